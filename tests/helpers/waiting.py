"""Wait for what other threads and processes do, however busy the machine is."""

import time

PATIENCE = 120.0  # seconds, which nothing takes unless it never comes


def comes_true(condition):
    """Tell whether a condition holds, now or before long."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
