"""Programs on arrays that are too large to be unrolled: through NumPy, line by line."""

from __future__ import annotations

from typing import Any

from simpleautodiff.jit.replay import Replay
from simpleautodiff.jit.symbols import Recorded


class ArrayProgram:
    """A recorded program that NumPy runs, line by line."""

    def __init__(self, recorded: Recorded, precise: bool = False, native: bool = True) -> None:
        self._replay = Replay(recorded)
        self.ir = ""

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Return 0 and the results, or 1 + the number of the first guard that failed."""
        return self._replay.run(inputs)

    def explain(self) -> list[str]:
        """Say what runs it."""
        return ["line by line, through NumPy"]

    def codes(self) -> list[Any]:
        """Return the code that it runs."""
        return []
