"""Gymnasium environments and similar objects: how one becomes a world to learn in, and a world an environment."""
