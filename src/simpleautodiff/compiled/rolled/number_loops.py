"""Loops of single numbers: one body each, whose numbers stay in registers from step to step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from simpleautodiff.compiled.rolled.bodies import Address, ArrayBody, Operand
from simpleautodiff.compiled.rolled.limits import ROLLING

_OF_HEAD = [Operand(size, k > 1) for k, size in enumerate((8, 1, 1, 1, 8))]


class LoopHead(NamedTuple):
    """The addresses by which a loop and its caller pass numbers, apart from its operands.

    `places` has five: the loop reads the number of steps and whether there is a first one, and
    writes whether all guards held, whether there would be a next step, and how many it took. In a
    loop of unknown length each step writes to `following` whether there is a next one.
    """

    loop: int
    reverse: bool
    places: list[Address]
    following: Address | None


class LoopOperand(NamedTuple):
    """A number or an array that a loop reads or writes, at an address that it is given."""

    size: int
    is_written: bool
    advance: int  # bytes, with every step
    is_kept: bool  # in registers, while the loop runs


class InnerCall(NamedTuple):
    """A call within a loop: which body, and which operands of the loop it gets."""

    body: int
    given: list[int]


class LoopBody(NamedTuple):
    """A loop all of whose steps are on single numbers, as a function of their addresses.

    `head` and `following` are the numbers of those operands that a `LoopHead` describes.
    """

    operands: list[LoopOperand]
    calls: list[InnerCall]
    head: list[int]
    following: int | None
    reverse: bool
    steps: int
    scratch: int = 0


def make_loop_body(
    head: LoopHead, inside: Sequence[int], bodies: Sequence[Any]
) -> tuple[LoopBody, list[int]] | None:
    """Return the body of a loop, and its addresses; None if it is not on single numbers."""
    calls = _read_calls(inside, bodies)
    steps = sum([bodies[number].steps for number, _ in calls or ()])
    if calls is None or steps > ROLLING.registers:
        return None
    given = _Given(head.loop)
    inner = [
        InnerCall(number, [*map(given.take, words, bodies[number].operands)])
        for number, words in calls
    ]
    told = [*map(given.take, head.places, _OF_HEAD)]
    following = None if head.following is None else given.take(head.following, Operand(1, False))
    operands = given.operands(told)
    return LoopBody(operands, inner, told, following, head.reverse, steps), given.words


def _read_calls(
    inside: Sequence[int], bodies: Sequence[Any]
) -> list[tuple[int, Sequence[int]]] | None:
    """Return the calls that words encode; None if one of them is not on single numbers."""
    calls, at = [], 0
    while at < len(inside):
        number = int(inside[at])
        if number < 0 or isinstance(bodies[number], ArrayBody):
            return None
        stop = at + 2 + len(bodies[number].operands)
        calls.append((number, inside[at + 2 : stop]))
        at = stop
    return calls


class _Given:
    """The addresses that a loop takes, each once."""

    def __init__(self, loop: int) -> None:
        self.loop = loop
        self.words: list[int] = []
        self._known: dict[Any, int] = {}
        self._sizes: list[int] = []
        self._written: set[int] = set()

    def take(self, word: int, operand: Any) -> int:
        """Return the number of an address among all."""
        key = int(word), *sorted(_steps(word).items())
        number = self._known.setdefault(key, len(self.words))
        if number == len(self.words):
            self.words.append(word)
            self._sizes.append(0)
        self._sizes[number] = max(self._sizes[number], operand.size)
        self._written |= {number} if operand.is_written else set()
        return number

    def operands(self, told: list[int]) -> list[LoopOperand]:
        """Return what is known of each address."""
        sharing = Counter([word.root for word in self.words if isinstance(word, Address)])
        made = []
        for number, (word, size) in enumerate(zip(self.words, self._sizes, strict=True)):
            is_written = number in self._written
            is_alone = isinstance(word, Address) and word == word.root and sharing[word.root] == 1
            is_fixed = not _steps(word) and number not in told and size <= ROLLING.kept
            advance = _steps(word).get(self.loop, 0)
            is_kept = is_written and is_alone and is_fixed
            made.append(LoopOperand(size, is_written, advance, is_kept))
        return made


def _steps(word: int) -> dict[int, int]:
    return word.steps if isinstance(word, Address) else {}
