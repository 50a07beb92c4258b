"""The sizes at which the fast engine switches between methods; tests can set them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Thresholds:
    """Sizes at which one method takes over from another; the results are the same."""

    small: int = 4096  # elements: up to here a copy costs less than locking an array
    medium: int = 2**14  # elements: up to here a pass costs less than avoiding it
    repeated: int = 2**24  # bytes of large arrays: up to here a sweep frees none, to be repeated
    pooled: int = 2**19  # bytes from which memory is pooled: malloc keeps smaller blocks
    pool: int = 2**28  # bytes: free memory that stays for the next derivative, at most
    block: int = 2**15  # elements of a block, which fits into the caches
    near: int = 2**20  # elements: up to here a pass costs less than splitting into blocks
    guarded: int = 256  # nodes: shorter programs are recorded with all structural zeros
    many: int = 1024  # elements: for fewer, one slow NumPy call beats six fast ones


THRESHOLDS = Thresholds()
