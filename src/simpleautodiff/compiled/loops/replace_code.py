"""Replace the code of functions while something is recorded, by code in which loops are calls.

Loops are in functions that the recorded one calls, too, and in those that these define. So the code
of all functions that contain the loop is replaced, until the recording is done. Run meanwhile by
others, it does what it did before.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import compress, repeat
from types import CodeType, FunctionType

from simpleautodiff.compiled.loops.rewrite_loops import (
    NO_LINES,
    find_outermost_loop,
    nested_codes,
    rewrite_loops,
)
from simpleautodiff.compiled.recording.trace_program import Guard, Stack


class LongRecording(BaseException):
    """Raised to tell `jit` to record a function again, with further loops by one step."""

    def __init__(self, loops: LoopsToRecord) -> None:
        super().__init__()
        self.loops = loops


class LoopsToRecord:
    """Python's loops that are recorded by one step each, and the code that does it.

    These are loops around decisions that have turned out differently, and loops that are long.
    """

    def __init__(self, line: str = "") -> None:
        self.line = line  # that of the last decision
        self.recorded = 0  # how many of the loops are on a path
        self._lines: dict[CodeType, frozenset[int]] = {}
        self._long: dict[CodeType, frozenset[int]] = {}  # the lines where long loops begin
        self._refused: dict[CodeType, frozenset[int]] = {}  # those of others, and not by one step
        self._codes: dict[CodeType, CodeType] = {}
        self._originals: dict[CodeType, CodeType] = {}  # of rewritten code

    @property
    def are_long(self) -> bool:
        """Whether some of them are only recorded by one step because they are long."""
        return any(self._long.values())

    def extended(self, guard: Guard) -> LoopsToRecord | None:
        """Return these loops and the innermost one around a decision; None if there is no other."""
        for code, line in guard.stack:
            code = self._originals.get(code, code)
            lines, long = self._lines.get(code, NO_LINES), self._long.get(code, NO_LINES)
            before, now = [rewrite_loops(code, more, long) for more in (lines, lines | {line})]
            if now is not None and now.needed:
                if before is not None and before.needed == now.needed:
                    return None
                made = self._with_code(code, now.code)
                made.line, made._lines[code] = guard.line, lines | {line}
                return made
        return None

    def stop_in_loop(self, stack: Stack) -> None:
        """Raise `LongRecording` if the code that is running is in a loop that is not one of these.

        It is the outermost such loop of the outermost function that has one.
        """
        for code, line in reversed(stack):
            code = self._originals.get(code, code)
            long = self._long.get(code, NO_LINES)
            begin = find_outermost_loop(code, line, long, self._refused.get(code, NO_LINES))
            if begin is not None:
                now = rewrite_loops(code, self._lines.get(code, NO_LINES), long | {begin})
                if now is not None:
                    made = self._with_code(code, now.code)
                    made._long[code] = long | {begin}
                    raise LongRecording(made)

    def without(self, step: CodeType) -> LoopsToRecord:
        """Return these loops without a long one, given by the code of its step."""
        code, begin = self._originals[step], step.co_firstlineno
        long = self._long[code] - {begin}
        now = rewrite_loops(code, self._lines.get(code, NO_LINES), long)
        made = self._with_code(code, now.code if now else code)
        made._long[code] = long
        made._refused[code] = self._refused.get(code, NO_LINES) | {begin}
        return made

    def _with_code(self, code: CodeType, rewritten: CodeType) -> LoopsToRecord:
        """Return these loops, with other code for a function."""
        made = LoopsToRecord(self.line)
        made._lines, made._long, made._refused = {**self._lines}, {**self._long}, {**self._refused}
        made._codes = {**self._codes, code: rewritten}
        of_code = dict.fromkeys(nested_codes(rewritten), code)
        made._originals = {**self._originals, **of_code}
        return made

    @contextmanager
    def replaced(self, functions: FunctionsInMemory) -> Iterator[None]:
        """Let all functions with these loops run code that records them in this context."""
        before: list[tuple[FunctionType, CodeType]] = []
        try:
            for function in functions.containing(self._codes):
                before.append((function, function.__code__))
                function.__code__ = self._replace(function.__code__)
            yield
        finally:
            for function, code in before:
                function.__code__ = code

    def _replace(self, code: CodeType) -> CodeType:
        """Return code in which that of some functions is replaced."""
        if code in self._codes:
            return self._codes[code]
        inside = [self._replace(x) if isinstance(x, CodeType) else x for x in code.co_consts]
        return code.replace(co_consts=tuple(inside))


class FunctionsInMemory:
    """All functions there are, found once: a process may have a million objects to look through.

    Those that are made while another one is recorded have the code that is given to that.
    """

    @cached_property
    def _all(self) -> list[FunctionType]:
        objects = gc.get_objects()
        are_functions = map(operator.is_, map(type, objects), repeat(FunctionType))
        return list(compress(objects, are_functions))

    def containing(self, codes: Collection[CodeType]) -> list[FunctionType]:
        """Return the functions with some of these codes, or with functions that have one."""
        files = {code.co_filename for code in codes}
        return [
            x for x in (self._all if codes else ())
            if x.__code__.co_filename in files
            and any(code in codes for code in nested_codes(x.__code__))
        ]  # fmt: skip
