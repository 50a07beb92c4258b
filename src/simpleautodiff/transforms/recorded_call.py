"""A function that ran once, with all that it recorded: it can be swept any number of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.patch_scipy import patch_scipy
from simpleautodiff.arrays.writes.views import twin
from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Level, Traced, concrete, plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Node
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import ResultError
from simpleautodiff.transforms.arguments import Selection, call, name_of
from simpleautodiff.transforms.complex_derivative import from_gradients
from simpleautodiff.transforms.results import still_open
from simpleautodiff.values.functions import (
    check_value,
    has_dtype,
    is_complex,
    to_type_of,
    zero_like,
)
from simpleautodiff.values.other_arrays import unwrap_foreign
from simpleautodiff.values.pytree import Rebuild, flatten, map_leaves

F = Callable[..., Any]
_FLOAT = np.dtype(float)


class Graph:
    """What running a function once recorded; it can be swept any number of times.

    What is done later to others' arrays does not reach one that is to be `kept`.
    """

    def __init__(
        self,
        f: F,
        selection: Selection,
        has_aux: bool = False,
        tape: Tape | None = None,
        kept: bool = False,
    ) -> None:
        patch_scipy()
        self.f = f
        self.tape: Tape = engine.new_tape() if tape is None else tape
        self.inputs: list[Node] = []
        self.rebuild: Rebuild
        leaves, self.rebuild = flatten(selection.trees)
        keeper = None if kept else self.tape  # views of arguments that are locked see later writes
        with self.tape:
            for leaf in leaves:
                value = leaf if type(leaf) is float else checked(leaf, f, keeper)
                self.inputs.append(self.tape.record(None, (), value))
            self.result = call(f, selection, self.rebuild(iter(self.inputs)))
        self.inputs = self.tape[: len(leaves)]  # as they were, should the function write to them
        self.aux: Any = None
        self.single = selection.single
        if has_aux:
            self.result, self.aux = with_aux(self.result, self.tape, f)
        if kept:
            self.tape.own()
            self.aux = map_leaves(_copied, self.aux)

    def __del__(self) -> None:
        self.tape.clear()  # nodes know their tape and the tape its nodes: undo the circle

    def recorded(self, result: Any) -> bool:
        """Tell whether `result` depends on the inputs, as far as the tape knows."""
        return isinstance(result, Node) and result.level is self.tape

    def pull(self, seeds: list[tuple[Any, Any]], once: bool = False) -> list[Any]:
        """Sweep back from seeded results and return the adjoints of the inputs as numbers."""
        adjoints = self.sweep_back(seeds, once)
        pairs = zip(adjoints, self.inputs, strict=True)
        return [as_number(adjoint, node.value) for adjoint, node in pairs]

    def slopes(self, result: Any, unit: Any = 1, once: bool = False) -> list[Any]:
        """Return the derivative of a result in every input; `unit` chooses an element of it.

        `once` says that this is the last sweep, so that it may use up the graph.
        """
        is_float = type(result) is Node and type(result.value) is float
        if is_float or not is_complex(plain(result)):
            return self.pull([(result, unit)], once)
        of_real = self.pull([(result, unit * (1 + 0j))])
        of_imaginary = self.pull([(result, unit * -1j)])
        parts = zip(of_real, of_imaginary, self.inputs, strict=True)
        return [from_gradients(u, v, node.value, self.f) for u, v, node in parts]

    def sweep_back(self, seeds: list[tuple[Any, Any]], once: bool = False) -> list[Any]:
        """Sweep back from seeded results; return the adjoints of the inputs, None for none."""
        recorded = []
        for result, seed in seeds:
            if seed is not ZERO and self.recorded(result):
                like = result.value
                if type(like) is not float and has_dtype(plain(like)):
                    seed = to_type_of(seed, plain(like))  # a plain 1 is no float32 once copied
                recorded.append((result, seed))
        return self.tape.pull(recorded, self.inputs, once)

    def push(self, tangents: list[Any], results: list[Any]) -> list[Any]:
        """Sweep forward from seeded inputs and return the tangents of the results."""
        pairs = zip(self.inputs, tangents, strict=True)
        seeds = [(node, tangent) for node, tangent in pairs if tangent is not None]
        recorded = [result for result in results if self.recorded(result)]
        found = iter(self.tape.push(seeds, recorded))
        return [as_number(next(found) if self.recorded(r) else ZERO, r) for r in results]

    def arguments(self, numbers: list[Any]) -> Any:
        """Put one number per input into the structure of the arguments, each of its own."""
        if any([type(number) is not float for number in numbers]):
            numbers = _apart(
                [x if type(x) is np.ndarray else twin(unwrap_foreign(x)) for x in numbers]
            )
        trees = self.rebuild(iter(numbers))
        return trees[0] if self.single else trees


def with_aux(result: Any, level: Level, f: F) -> tuple[Any, Any]:
    """Split what a function with auxiliary output returned; the latter without nodes."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise ResultError(
            f"has_aux=True needs {name_of(f)} to return (result, auxiliary); it returned {result!r}"
        )

    def plain_leaf(leaf: Any) -> Any:
        own = isinstance(leaf, Traced) and leaf.level is level
        return unwrap_foreign(engine.release(leaf.value) if own else leaf)

    return result[0], map_leaves(plain_leaf, result[1])


def as_number(derivative: Any, like: Any) -> Any:
    """Return a derivative in the kind of number it belongs to.

    Seeds and constants of rules are whole numbers, which are exact in every kind; what was not
    reached is 0.
    """
    if type(derivative) is float and type(like) is float:
        return derivative
    alike = type(derivative) is type(like) is np.ndarray and derivative.dtype is like.dtype
    if alike and derivative.flags.writeable:
        return derivative
    if derivative is None or derivative is ZERO:
        return zero_like(plain(like))
    derivative, like = still_open(derivative, "the derivative"), plain(like)
    if isinstance(derivative, Traced):
        return _node_in_kind(derivative, like)
    return to_type_of(derivative, like)


def _node_in_kind(derivative: Any, like: Any) -> Any:
    """Return a derivative that is a node in the precision of what it belongs to."""
    kind = getattr(like, "dtype", None)
    if kind is None or kind == derivative.dtype or kind.kind != derivative.dtype.kind:
        return derivative
    return derivative.astype(kind)


def _copied(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def _apart(numbers: list[Any]) -> list[Any]:
    """Copy an array that lies in another derivative: who writes to one shall not change two."""
    seen: dict[int, list[Any]] = {}  # derivatives, by the array in whose memory they lie
    apart = []
    for number in numbers:
        if isinstance(number, np.ndarray):
            number = engine.release(number)
            others = seen.setdefault(id(_owner(number)), [])
            if any([np.may_share_memory(number, other) for other in others]):
                number = number.copy()
            else:
                others.append(number)
        apart.append(number)
    return apart


def _owner(array: Any) -> Any:
    """Return the array whose memory another one lies in."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def checked(argument: Any, f: F, tape: Tape | None = None) -> Any:
    """Return an argument as it is recorded: a number or an array that nobody changes."""
    if type(argument) is float:
        return argument
    value = argument
    if type(argument) is not np.ndarray or not argument.ndim or argument.dtype is not _FLOAT:
        value = check_value(argument, f"an argument of {name_of(f)}")
        inner = concrete(value)
        if isinstance(inner, (np.ndarray, np.generic)) and inner.dtype.kind in "biu":
            value = value.astype(float)  # the examples of a batch
    if not isinstance(value, np.ndarray):
        return twin(value)
    return value.copy() if tape is None else tape.retain(value)
