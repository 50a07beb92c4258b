"""Whether the numbers that symbols have while a program is recorded are those of the call at hand.

A loop is recorded by one step of it, and running all the others would take long. So its results
are given the numbers of the first step, which have the right shapes and dtypes, as long as nothing
is decided by them. Where something is, the function is recorded once more with the true numbers.
"""

from __future__ import annotations

from dataclasses import dataclass


class NumbersNeeded(BaseException):
    """What `jit` is told if code goes by a number that was estimated."""


@dataclass(slots=True)
class Estimates:
    """Whether numbers may be estimated, and whether one was."""

    allowed: bool = False
    made: bool = False

    def estimate(self) -> bool:
        """Tell whether numbers may be estimated, which they then are."""
        self.made = self.made or self.allowed
        return self.allowed

    def check(self) -> None:
        """Ask for the true numbers, if some are estimated: something is decided by them."""
        if self.made:
            raise NumbersNeeded
