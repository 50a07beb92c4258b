"""Collect the kinks of a run: steps whose derivative is a choice, with values and source lines."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Node, TapeNode
from simpleautodiff.core.primitive import Kink, Primitive
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import ArgumentError, KinkError, KinkWarning, cite_line, format_line
from simpleautodiff.rules.array.series_limits import take_limit
from simpleautodiff.transforms.located_tapes import LocatedTape
from simpleautodiff.values.functions import shape
from simpleautodiff.values.other_arrays import Foreign


class KinkTape(LocatedTape):
    """A tape to look for kinks on.

    A gradient computed inside depends on the choices of its own sweep, even if the step does not
    reach the result: `swept` are the steps that such sweeps pass.
    """

    every_step = True

    def __init__(self) -> None:
        super().__init__()
        self.swept: set[int] = set()

    def __enter__(self) -> None:
        super().__enter__()
        KINK_TAPES.add(self)

    def __exit__(self, *exception: object) -> None:
        KINK_TAPES.discard(self)
        super().__exit__(*exception)

    __hash__ = object.__hash__  # type: ignore[assignment]


KINK_TAPES: set[KinkTape] = set()  # those that are open


def note_sweep(tape: Tape, results: Iterable[Any]) -> None:
    """Tell all tapes that look for kinks which of their steps a sweep passes."""
    for node in find_needed_steps(tape, results):
        value = node.value
        while isinstance(value, Traced):
            if isinstance(value, Node) and isinstance(value.level, KinkTape):
                value.level.swept.add(value.index)
            value = value.value if hasattr(value, "value") else None


def find_needed_steps(tape: Tape, results: Iterable[Any]) -> list[Node]:
    """Return the steps of a tape that the derivatives of results depend on."""
    recorded = [x for x in results if type(x) is TapeNode and x.level is tape]
    needed = {result.index for result in recorded}
    for node in reversed(tape):
        if node.index in needed and node.primitive is not None:
            rules = zip(node.args, node.primitive.partials, strict=True)
            needed.update(
                arg.index for arg, rule in rules if type(arg) is TapeNode and rule is not ZERO
            )
    return [node for node in tape if node.primitive is not None and node.index in needed]


@dataclass(frozen=True, slots=True)
class KinkMet:
    """A step evaluated where its derivative is not unique, and the choice that was made."""

    name: str
    operator: str
    values: tuple[Any, ...]
    where: str
    choice: str
    line: str

    def __str__(self) -> str:
        """Describe the step in one line."""
        line = f", {self.line}" if self.line else ""
        return f"{self.name} = {self.operator}(...) at {self.where}: {self.choice}{line}"


def collect_kinks(tape: KinkTape, results: Iterable[Any]) -> list[KinkMet]:
    """Return the steps whose derivative was a choice, among those that the results depend on."""
    needed = {node.index for node in find_needed_steps(tape, results)} | tape.swept
    steps = [node for node in tape if node.primitive is not None and node.index in needed]
    return [
        KinkMet(
            f"v{number}",
            node.operator,
            tuple(map(take_limit, node.values())),
            kink.text,
            kink.choice,
            format_line(*tape.locations[node.index]),
        )
        for number, node in enumerate(steps, 1)
        for kink in node.primitive.kinks  # type: ignore[union-attr]
        if _is_differentiated(kink, node) and is_at_kink(node.primitive, kink, node.values())  # type: ignore[arg-type]
    ]


def _is_differentiated(kink: Kink, node: Node) -> bool:
    """Tell whether a kink concerns an argument with respect to which the node is differentiated."""
    return kink.wrt is None or any(type(node.args[i]) is TapeNode for i in kink.wrt)


def is_at_kink(primitive: Primitive, kink: Kink, values: tuple[Any, ...]) -> bool:
    """Tell whether the values are at a kink, in any element of any example."""
    values = tuple([_to_numpy(to_plain(value)) for value in values])
    level: Any = next((value.level for value in values if isinstance(value, Traced)), None)
    if level is not None:
        return _is_at_kink_in_batch(primitive, kink, values, level)
    if primitive.arrays or not any(shape(value) for value in values):
        return bool(kink.happens(*values))
    elements = np.broadcast(*[np.asarray(value) for value in values])
    return any(kink.happens(*element) for element in elements)


def _to_numpy(value: Any) -> Any:
    return value.numpy() if type(value) is Foreign else value


def _is_at_kink_in_batch(primitive: Primitive, kink: Kink, values: Any, level: Any) -> bool:
    if not hasattr(level, "one_by_one"):
        raise ArgumentError(
            "a compiled function has no numbers yet that could be at a kink: ask for kinks outside "
            f"of jit{cite_line()}"
        )
    found = level.one_by_one(lambda *one: np.asarray(is_at_kink(primitive, kink, one)), values)
    return bool(np.any(found.value))


def check_kinks_option(kinks: str | None) -> None:
    """Refuse an unknown value of the option `kinks`."""
    if kinks not in (None, "report", "raise"):
        raise ArgumentError(f"kinks is None, 'report' or 'raise'; got {kinks!r}")


def report_kinks(kinks: str, met: list[KinkMet], of: str) -> None:
    """Report the kinks that were met, as a warning or as an error."""
    if not met:
        return
    listed = "\n".join(f"  {kink}" for kink in met)
    message = f"{of} was evaluated where its derivative is not unique; a choice was made:\n{listed}"
    if kinks == "raise":
        raise KinkError(message)
    warnings.warn(message, KinkWarning, stacklevel=4)
