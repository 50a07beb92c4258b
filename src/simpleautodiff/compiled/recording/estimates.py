"""Track whether symbols have the true numbers of this call while a program is recorded.

A loop is recorded by one of its steps, and running all the others would take long. So its results
are given the numbers of the first step, which have the right shapes and dtypes, as long as no
decision depends on them. If one does, the function is recorded again with the true numbers.
"""

from __future__ import annotations

from dataclasses import dataclass


class NumbersNeeded(BaseException):
    """Raised to tell `jit` that code branches on an estimated number."""


class MasksNeeded(BaseException):
    """Raised to tell `jit` that derivatives are not finite: loops have to carry masks."""


@dataclass(slots=True)
class Estimates:
    """Whether numbers may be estimated, and whether one was.

    `assumes` says that a program may assume that its derivatives are finite, and check it;
    `unmasked`, that a loop was recorded so.
    """

    allowed: bool = False
    made: bool = False
    assumes: bool = False
    unmasked: bool = False

    def estimate(self) -> bool:
        """Tell whether numbers may be estimated; if so, note that they are."""
        self.made = self.made or self.allowed
        return self.allowed

    def check(self) -> None:
        """Ask for the true numbers if some are estimated, as a decision depends on them."""
        if self.made:
            raise NumbersNeeded
