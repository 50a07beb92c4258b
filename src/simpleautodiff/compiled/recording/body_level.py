"""The level on which one step of a loop is recorded, above all others.

Values of lower levels that the step uses (nodes of a derivative, batches, symbols of the enclosing
function) become arguments of the program, so that the program can be run on any level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from simpleautodiff.arrays.batch.batch_level import Batch
from simpleautodiff.compiled.recording.estimates import Estimates
from simpleautodiff.compiled.recording.symbol_level import OnLong, SymbolLevel
from simpleautodiff.compiled.recording.symbols import Symbol, not_recorded
from simpleautodiff.compiled.recording.trace_program import argument_key
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.core.node import Node
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.array.indexing import concatenate, getitem, is_recorded
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.pytree import map_leaves, matching_leaves

MAX_PATHS = 16  # paths through a step that are all recorded, at most


class WrittenInBranch(BaseException):
    """Raised by a branch that writes to an array: it cannot be computed beside the other one."""


@final
class BodyLevel(SymbolLevel):
    """The level of one step of a loop; its program is replayed, so that it has derivatives."""

    selects = True  # `cond` computes both branches, as the next step may take the other
    decides = False  # the next step may have to decide otherwise

    def __init__(self, estimates: Estimates, precise: bool, on_long: OnLong | None = None) -> None:
        super().__init__(precise=precise, estimates=estimates, on_long=on_long)
        self._path: list[bool] | None = None  # the decisions of this path, if any
        self._decisions: dict[Any, Any] = {}  # the conditions on this path
        self._may_join = True

    @property
    def joins_branches(self) -> bool:
        """Whether a decision that ends within a step computes both branches."""
        return self._path is not None and self._may_join

    def run(self, primitive: Primitive, args: tuple[Any, ...]) -> Symbol:
        """Run a row, with values of lower levels as arguments; the row keeps its rules."""
        if primitive is TABLE["set_item"] and self._is_from_outside(args[0]):
            parts = find_parts_around(*args)
            if parts:
                return concatenate(parts)  # type: ignore[no-any-return]
        return self.run_row(primitive, self.take_in(args))

    def _is_from_outside(self, x: Any) -> bool:
        return isinstance(x, Traced) and x.level is not self

    def answer(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Apply a function that has no derivative."""
        return super().answer(function, self.take_in(tuple(args)), self.take_in(kwargs))

    def guard(self, truth: Any, number: int | None = None) -> bool:
        """Let the code branch on a bool, which has to be the same in every step."""
        if number is not None:
            raise not_recorded("an integer by which a step of a loop goes")
        if self._path is None or not isinstance(truth, Symbol):
            return super().guard(truth)
        self._decisions.setdefault(truth.place, truth)
        if (
            len(self._decisions) >= MAX_PATHS
        ):  # each adds a path; without end, if it is that of a loop
            raise not_recorded(f"a step of a loop with more than {MAX_PATHS} paths through it")
        at = list(self._decisions).index(truth.place)
        return self._path[at] if at < len(self._path) else True

    def record_all_branches(self, f: Callable[[], Any]) -> Any:
        """Run a function for every path that its decisions allow; select among the results."""
        try:
            return self._go_on(f, [], iter(range(MAX_PATHS)))
        except WrittenInBranch:
            self._may_join = False
            return self._go_on(f, [], iter(range(MAX_PATHS)))

    def _go_on(self, f: Callable[[], Any], path: list[bool], runs: Iterator[int]) -> Any:
        """Run all paths that begin with these decisions."""
        if next(runs, None) is None:
            raise not_recorded(f"a step of a loop with more than {MAX_PATHS} paths through it")
        self._path, self._decisions = path, {}
        try:
            made = f()
            conditions = list(self._decisions.values())
        finally:
            self._path = None
        taken = [*path, *[True] * (len(conditions) - len(path))]
        for at in range(len(conditions) - 1, len(path) - 1, -1):
            made = choose(conditions[at], made, self._go_on(f, [*taken[:at], False], runs))
        return made

    def capture(self, x: Any) -> Symbol:
        """Return the symbol of a value of a lower level: a further argument.

        Values that are computed alike, such as x[1:] and x[1:], are one argument, with one
        derivative.
        """
        key = _describe(x)
        if key not in self.captured:
            self.captured[key] = x, self.input(find_example(x))
        return self.captured[key][1]

    def own(self, x: Any) -> Symbol:
        """Return a result as a symbol of this level."""
        x = take_current(x)
        if isinstance(x, Traced):
            return x if isinstance(x, Symbol) and x.level is self else self.capture(x)
        number = np.asarray(x)[()]
        return self.record(TABLE["astype"], (number, number.dtype), {}, number)

    def take_in(self, tree: Any) -> Any:
        """Return arguments on this level: values of lower ones become arguments of the program."""
        return map_leaves(
            lambda x: self.capture(x) if isinstance(x, Traced) and x.level is not self else x, tree
        )

    def _own(self, symbol: Any) -> Symbol:
        return symbol if symbol.level is self else self.capture(symbol)


def _describe(x: Any, deep: int = 3) -> Any:
    """Return a key that values have in common if the same rows give both of the same arguments.

    Only the last rows that computed a value are compared.
    """
    made: Any = None
    if isinstance(x, Node):
        made = x.primitive, x.args
    elif isinstance(x, Symbol):
        made = x.level.lines[x.place][:2]
    elif not isinstance(x, Traced):
        return argument_key(x)
    if not deep or made is None or not isinstance(made[0], Primitive):
        return id(x)
    name = made[0].name
    if TABLE.get(name) is not made[0]:
        return id(x)
    return id(x.level), name, tuple([_describe(arg, deep - 1) for arg in made[1]])


def find_parts_around(x: Any, value: Any, index: Any) -> list[Any]:
    """Return what a write over most rows of an array joins: what is written, and the other rows.

    If it is another write, return nothing.
    """
    rows = index[0] if type(index) is tuple and len(index) == 1 else index
    shape = np.shape(find_example(x))
    if type(rows) is not slice or is_recorded(rows):
        return []
    start, stop, step = rows.indices(shape[0])
    same_dtype = np.result_type(find_example(x)) == np.result_type(find_example(value))
    fills = np.shape(find_example(value)) == (stop - start, *shape[1:])
    if step != 1 or not fills or not same_dtype or 2 * (stop - start) <= shape[0]:
        return []
    before = [getitem(x, slice(0, start))] if start else []
    return [*before, value, *([getitem(x, slice(stop, None))] if stop < shape[0] else [])]


def find_example(x: Any) -> Any:
    """Return the number or array of a node in this call; for a batch, its first example."""
    batches, x = 0, take_current(x)
    while isinstance(x, Traced):
        batches += type(x) is Batch
        x = x.concrete if isinstance(x, Symbol) else x.value
        x = take_current(x)
    return x[(0,) * batches] if batches else x


def is_smooth(x: Any) -> bool:
    """Tell whether a number may have derivatives."""
    number = find_example(x)
    return type(number) is float or np.result_type(number).kind in "fc"


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Return one of two structures, number by number."""
    others = iter(matching_leaves(no, yes, "what a step gives if it decides otherwise"))

    def choose_leaf(x: Any) -> Any:
        y = next(others)
        if x is y:
            return x
        if np.result_type(find_example(x), find_example(y)).kind == "b":
            return np.logical_or(
                np.logical_and(condition, x), np.logical_and(np.logical_not(condition), y)
            )
        return where(condition, take_current(x), take_current(y))

    return map_leaves(choose_leaf, yes)
