"""From which sizes on the fast engine does things differently; all can be set, as tests do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Limits:
    """Sizes at which one way of computing takes over from another; the results are the same."""

    small: int = 4096  # elements: up to here a copy costs less than locking an array
    medium: int = 2**14  # elements: up to here a pass over them costs less than saving it
    pooled: int = 2**19  # bytes from which memory is pooled: less stays with the process anyway
    pool: int = 2**28  # bytes of free memory at most that stay for the next derivative
    block: int = 2**15  # elements of a block: what one step leaves in the caches, the next finds
    near: int = 2**20  # elements: up to here one pass more costs less than going by blocks
    many: int = 1024  # elements: for fewer, one slow call of NumPy takes less time than six


LIMITS = Limits()
