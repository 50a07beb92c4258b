"""Keep freed memory in the process, as the next derivative will need it again.

A tape frees all its arrays at the end. Of those that are too small for the memory pool the C
library then returns the memory to the system, and gets it back page by page, each filled with zeros
first: for arrays of some thousand elements that takes longer than the derivative itself.
"""

from __future__ import annotations

import ctypes
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc: the parameters of `mallopt`
_LARGEST_MMAP_THRESHOLD = 2**25  # bytes


@cache
def keep_freed_memory() -> None:
    """Tell the C library to keep up to 64 MiB of free memory.

    These are the thresholds that glibc comes to by itself once a program has freed a block of
    32 MiB. Without such a function, as on macOS and Windows, nothing happens.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    set_option(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    set_option(_TRIM_THRESHOLD, 2 * _LARGEST_MMAP_THRESHOLD)
