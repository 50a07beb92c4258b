"""One call of a function, recorded on a tape that can be swept any number of times."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.patch_scipy import patch_scipy
from simpleautodiff.arrays.writes.views import twin
from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Level, Traced, to_concrete, to_plain
from simpleautodiff.core.linear import ZERO, filled
from simpleautodiff.core.node import Node, TapeNode
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import ResultError
from simpleautodiff.rules.array.repeated_values import find_largest, has_moved, mark_turned
from simpleautodiff.rules.array.series_limits import take_limit, warn_arbitrary
from simpleautodiff.rules.branches import where
from simpleautodiff.transforms.arguments import Selection, call, name_of
from simpleautodiff.transforms.complex_derivative import combine_gradients
from simpleautodiff.transforms.kinks import KINK_TAPES, note_sweep
from simpleautodiff.transforms.results import REAL_NUMBERS, check_open, tell_found
from simpleautodiff.values.functions import (
    check_value,
    has_dtype,
    is_complex,
    to_type_of,
    zero_like,
)
from simpleautodiff.values.other_arrays import unwrap_foreign
from simpleautodiff.values.pytree import Rebuild, flatten, flatten_numbers, map_leaves

F = Callable[..., Any]
BASIS_DEPENDENT = 1e-4  # a relative difference above rounding, even of float32
ROUNDINGS = 1e3  # how many roundings a number that cancels to 0 may be off
_FLOAT, _FLOATS = np.dtype(float), {float}
_VALUE = operator.attrgetter("value")


class RecordedCall:
    """The graph that one call of a function recorded; it can be swept any number of times.

    With `retain` it outlives the call, so it copies the caller's arrays: later writes to them do
    not change it.
    """

    def __init__(
        self,
        f: F,
        selection: Selection,
        has_aux: bool = False,
        tape: Tape | None = None,
        retain: bool = False,
        turned: bool = False,
    ) -> None:
        patch_scipy()
        self.f = f
        self.tape: Tape = engine.new_tape() if tape is None else tape
        if turned:
            mark_turned(self.tape)
        self.inputs: list[Node] = []
        self.rebuild: Rebuild
        leaves, self.rebuild = flatten_numbers(selection.trees)
        owner = None if retain else self.tape  # a locked argument can still change through a view
        with self.tape:
            for leaf in leaves:
                value = leaf if type(leaf) is float else check_argument(leaf, f, owner)
                self.inputs.append(self.tape.record(None, (), value))
            self.result = call(f, selection, self.rebuild(iter(self.inputs)))
        self.inputs = self.tape[: len(leaves)]  # the function may have written to them
        self.aux: Any = None
        self.single = selection.single
        if has_aux:
            self.result, self.aux = split_aux(self.result, self.tape, f)
        if retain:
            self.tape.own()
            self.aux = map_leaves(_copy_array, self.aux)
        self.turned: RecordedCall | None = None  # the same call in another basis
        if has_moved(self.tape) and not turned:
            self.turned = RecordedCall(f, selection, has_aux, retain=retain, turned=True)

    def __del__(self) -> None:
        if hasattr(self, "tape"):  # not interrupted in __init__
            self.tape.clear()  # break the reference cycle between the tape and its nodes

    def has_recorded(self, result: Any) -> bool:
        """Tell whether `result` is a node of this tape."""
        return isinstance(result, Node) and result.level is self.tape

    def pull(self, seeds: list[tuple[Any, Any]], once: bool = False) -> list[Any]:
        """Sweep back from seeded results and return the adjoints of the inputs as numbers."""
        adjoints = self.sweep_back(seeds, once)
        tell_found(adjoints)
        values, numbers = [*map(_VALUE, self.inputs)], adjoints
        if not _FLOATS.issuperset(map(type, [*adjoints, *values])):
            numbers = [*map(as_number, adjoints, values)]
        if self.turned is None:
            return numbers
        others = self.turned.pull([(self._turn(result), seed) for result, seed in seeds], once)
        differ = [
            self._depends_on_basis(r, self._turn(r)) & (to_plain(filled(s)) != 0) for r, s in seeds
        ]
        unknown = functools.reduce(operator.or_, [np.any(d) for d in differ])
        return [drop_unknown(x, y, unknown) for x, y in zip(numbers, others, strict=True)]

    def gradients(self, result: Any, unit: Any = 1, once: bool = False) -> list[Any]:
        """Return the derivative of a result with respect to every input.

        The seed `unit` selects an element of the result. `once` says that this is the last sweep,
        which may release the graph on its way.
        """
        is_real = type(result) is TapeNode and type(result.value) in REAL_NUMBERS
        if is_real or not is_complex(to_plain(result)):
            return self.pull([(result, unit)], once)
        of_real = self.pull([(result, unit * (1 + 0j))])
        of_imaginary = self.pull([(result, unit * -1j)])
        parts = zip(of_real, of_imaginary, self.inputs, strict=True)
        return [combine_gradients(u, v, node.value, self.f) for u, v, node in parts]

    def pull_inside(self, seeds: list[tuple[Any, Any]]) -> list[Any]:
        """Sweep back for a rule: structural zeros, also of single elements, are kept as such."""
        if self.turned is not None:
            return self.pull(seeds)
        return [ZERO if x is None else x for x in self.sweep_back(seeds, partly=True)]

    def sweep_back(
        self, seeds: list[tuple[Any, Any]], once: bool = False, partly: bool = False
    ) -> list[Any]:
        """Sweep back from seeded results; return the adjoints of the inputs, None for a zero."""
        recorded = []
        for result, seed in seeds:
            if seed is not ZERO and type(result) is TapeNode and result.level is self.tape:
                like = result.value
                if type(like) is np.float64 and type(seed) is int:
                    seed = np.float64(seed)
                elif type(like) is not float and has_dtype(to_plain(like)):
                    seed = to_type_of(seed, to_plain(like))  # a copy of a plain 1 would be float64
                recorded.append((result, seed))
        if KINK_TAPES:
            note_sweep(self.tape, [result for result, _ in recorded])
        return self.tape.pull(recorded, self.inputs, once, partly)

    def push(self, tangents: list[Any], results: list[Any]) -> list[Any]:
        """Sweep forward from seeded inputs and return the tangents of the results."""
        pairs = zip(self.inputs, tangents, strict=True)
        seeds = [(node, tangent) for node, tangent in pairs if tangent is not None]
        recorded = [result for result in results if self.has_recorded(result)]
        tangents_found = self.tape.push(seeds, recorded)
        tell_found(tangents_found)
        found = iter(tangents_found)
        numbers = [as_number(next(found) if self.has_recorded(r) else ZERO, r) for r in results]
        if self.turned is None:
            return numbers
        turned = [self._turn(result) for result in results]
        others = self.turned.push(tangents, turned)
        unknown = list(map(self._depends_on_basis, results, turned))
        return [drop_unknown(*each) for each in zip(numbers, others, unknown, strict=True)]

    def _depends_on_basis(self, result: Any, other: Any) -> Any:
        """Tell where a result depends on the basis that is chosen for repeated values."""
        return differs(result, other, find_largest(self.tape))

    def _turn(self, result: Any) -> Any:
        """Return what the function returned instead of `result` with another basis."""
        assert self.turned is not None
        pairs = zip(flatten(self.result)[0], flatten(self.turned.result)[0], strict=True)
        return next(other for own, other in pairs if own is result)

    def rebuild_arguments(self, numbers: list[Any]) -> Any:
        """Put one number per input into the structure of the arguments; no two share memory."""
        if not _FLOATS.issuperset(map(type, numbers)):
            numbers = [x if type(x) is np.ndarray else twin(unwrap_foreign(x)) for x in numbers]
            numbers = copy_overlapping(numbers)
        trees = self.rebuild(iter(numbers))
        return trees[0] if self.single else trees


def split_aux(result: Any, level: Level, f: F) -> tuple[Any, Any]:
    """Split `(result, auxiliary)`, and replace the nodes in the auxiliary output by values."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise ResultError(
            f"has_aux=True needs {name_of(f)} to return (result, auxiliary); it returned {result!r}"
        )

    def plain_leaf(leaf: Any) -> Any:
        own = isinstance(leaf, Traced) and leaf.level is level
        return unwrap_foreign(engine.release(take_limit(leaf.value)) if own else leaf)

    return result[0], map_leaves(plain_leaf, result[1])


def differs(result: Any, other: Any, largest: float) -> Any:
    """Tell where two results differ by more than the rounding of the largest intermediate."""
    own, other = np.asarray(to_plain(result)), np.asarray(to_plain(other))
    size = np.max(np.abs(own), initial=0.0, where=np.isfinite(own))
    rounding = ROUNDINGS * float(np.finfo(own.dtype).eps) * largest
    return np.abs(own - other) > BASIS_DEPENDENT * size + rounding


def drop_unknown(derivative: Any, other: Any, unknown: Any) -> Any:
    """Return a derivative, with nan where it is `unknown` or does not exist in the other basis."""
    missing = np.isnan(to_plain(other)) | unknown
    if not np.any(to_concrete(missing)):
        return derivative
    warn_arbitrary()
    return where(missing, np.nan, derivative)


def as_number(derivative: Any, like: Any) -> Any:
    """Return a derivative in the number type and dtype of `like`.

    Seeds and constants of rules are integers, which are exact in every type. The derivative of a
    node that the sweep did not reach is 0.
    """
    if type(derivative) is float and type(like) is float:
        return derivative
    alike = type(derivative) is type(like) is np.ndarray and derivative.dtype is like.dtype
    if alike and derivative.flags.writeable:
        return derivative
    derivative = filled(derivative)
    if derivative is None or derivative is ZERO:
        return zero_like(to_plain(like))
    derivative, like = take_limit(check_open(derivative, "the derivative")), to_plain(like)
    if isinstance(derivative, Traced):
        return _cast_node(derivative, like)
    if type(like) is np.ndarray and type(derivative).__module__.startswith("pandas."):
        derivative = np.array(derivative)  # a column of a table was a factor
    return to_type_of(derivative, like)


def _cast_node(derivative: Any, like: Any) -> Any:
    """Return a derivative that is itself a node in the dtype of `like`."""
    dtype = np.dtype(complex) if type(like) is complex else getattr(like, "dtype", None)
    if dtype is None or not np.can_cast(derivative.dtype, dtype, "same_kind"):
        return derivative
    return derivative if dtype == derivative.dtype else derivative.astype(dtype)


def _copy_array(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def copy_overlapping(numbers: list[Any]) -> list[Any]:
    """Copy arrays that share memory with another, so that writing to one does not change both."""
    seen: dict[int, list[Any]] = {}  # derivatives, by the id of the array that owns their memory
    copied = []
    for number in numbers:
        if isinstance(number, np.ndarray):
            number = engine.release(number)
            others = seen.setdefault(id(_find_owner(number)), [])
            if any([np.may_share_memory(number, other) for other in others]):
                number = number.copy()
            else:
                others.append(number)
        copied.append(number)
    return copied


def _find_owner(array: Any) -> Any:
    """Return the array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def check_argument(argument: Any, f: F, tape: Tape | None = None) -> Any:
    """Return an argument in the form in which it is recorded: a number, or a protected array."""
    if type(argument) is float:
        return argument
    value = argument
    if type(argument) is not np.ndarray or not argument.ndim or argument.dtype is not _FLOAT:
        value = check_value(argument, f"an argument of {name_of(f)}")
        inner = to_concrete(value)
        if isinstance(inner, (np.ndarray, np.generic)) and inner.dtype.kind in "biu":
            value = value.astype(float)  # a batch of integers or bools
    if not isinstance(value, np.ndarray):
        return twin(value)
    return value.copy() if tape is None else tape.retain(value)
