"""Let functions run other code while something is recorded: that in which loops are calls.

Loops are in functions that the recorded one calls, too, and in those that these define. So the code
of all functions that contain the loop is replaced, until the recording is done. Run meanwhile by
others, it does what it did before.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType

from simpleautodiff.compiled.loops.rewrite_loops import nested_codes, rewrite_loops
from simpleautodiff.compiled.recording.trace_program import Guard


class LoopsToRecord:
    """The loops around decisions that have turned out differently, and code that records them."""

    def __init__(self, line: str = "") -> None:
        self.line = line  # that of the last decision
        self.recorded = 0  # how many of the loops are on a path
        self._lines: dict[CodeType, frozenset[int]] = {}
        self._codes: dict[CodeType, CodeType] = {}
        self._originals: dict[CodeType, CodeType] = {}  # of rewritten code

    def extended(self, guard: Guard) -> LoopsToRecord | None:
        """Return these loops and the innermost one around a decision; None if there is no other."""
        for code, line in guard.stack:
            code = self._originals.get(code, code)
            lines = self._lines.get(code, frozenset())
            before, now = rewrite_loops(code, lines), rewrite_loops(code, lines | {line})
            if now is not None:
                if before is not None and before.loops == now.loops:
                    return None
                made = LoopsToRecord(guard.line)
                made._lines = {**self._lines, code: lines | {line}}
                made._codes = {**self._codes, code: now.code}
                of_code = dict.fromkeys(nested_codes(now.code), code)
                made._originals = {**self._originals, **of_code}
                return made
        return None

    @contextmanager
    def replaced(self) -> Iterator[None]:
        """Let all functions with these loops run code that records them in this context."""
        before: list[tuple[FunctionType, CodeType]] = []
        try:
            for function in self._find_functions() if self._codes else ():
                before.append((function, function.__code__))
                function.__code__ = self._replace(function.__code__)
            yield
        finally:
            for function, code in before:
                function.__code__ = code

    def _find_functions(self) -> list[FunctionType]:
        files = {code.co_filename for code in self._codes}
        return [
            x for x in gc.get_objects()
            if type(x) is FunctionType and x.__code__.co_filename in files
            and any(code in self._codes for code in nested_codes(x.__code__))
        ]  # fmt: skip

    def _replace(self, code: CodeType) -> CodeType:
        """Return code in which that of some functions is replaced."""
        if code in self._codes:
            return self._codes[code]
        inside = [self._replace(x) if isinstance(x, CodeType) else x for x in code.co_consts]
        return code.replace(co_consts=tuple(inside))
