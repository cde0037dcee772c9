"""What tests of pages share."""

import time


def wait_until(page, condition):
    """Wait until an expression holds on a page; its security policy forbids Playwright's own way of waiting."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        time.sleep(0.05)
    raise AssertionError(f"the page never had: {condition}")
