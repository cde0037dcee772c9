"""Matplotlib figures of finished results, and what they share with pages: styles, symbols."""
