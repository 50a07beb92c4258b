"""Engines whose nodes can be held: `Value`, `Var`, `Node` and `Tape`.

This file runs in the learner's process too: of the library it imports `learner_engine` alone.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.learn.grading.learner_engine import (
    BACKWARD_NAMES,
    FORWARD_NAMES,
    GRADIENT_NAMES,
    INPUT_NAMES,
    WATCH_NAMES,
    LearnerEngine,
    NoEngine,
    choose_class,
    classes,
    construct,
    constructs,
    first,
    held_derivatives,
    is_number,
    parameters,
    required,
    spellings,
    to_float,
)


class ValueEngine(LearnerEngine):
    """`Value` with `.grad` and `backward()`, or with `backward(seed)`."""

    shape = "value"
    modes = ("reverse",)
    array_shape: tuple[int, ...] = ()

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        wanted = (names["backward"],) if "backward" in names else BACKWARD_NAMES
        self.cls = choose_class(namespace, names.get("node"), lambda node: first(wanted, node))
        node = self.make(0.75)
        self.backward = next(n for n in wanted if callable(getattr(node, n, None)))
        self.unseeded = held_derivatives(node)
        self.array_shape = (1,) if self.sweeps_arrays() else ()
        if first(wanted, self.functions) is not None and not self.reaches_inputs():
            raise NoEngine  # the method is the rule of one operation, and the function sweeps

    def make(self, value: Any) -> Any:
        """Make an input."""
        return construct(self.cls, value, shape=self.array_shape)

    def reaches_inputs(self) -> bool:
        """Tell whether a sweep from a sum changes anything in its arguments."""
        x = self.make(0.75)
        before = held_derivatives(x)
        try:
            self.sweep("reverse", self.apply("add", [x, x]))
        except Exception:
            return False
        return held_derivatives(x) != before

    def sweeps_arrays(self) -> bool:
        """Tell whether nodes of arrays of one element, where numbers are refused, can be swept."""
        try:
            self.cls(0.75)
        except Exception:
            try:
                x = construct(self.cls, 0.75, shape=(1,))
                self.sweep("reverse", self.apply("add", [x, x]))
            except Exception:
                return False
            return True
        return False

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node."""
        method = getattr(node, self.backward)
        return method(1.0) if required(method) == 1 else method()

    def read(self, result: Any, node: Any) -> Any:
        """Return a derivative; None, as it was at first, where the sweep has not come: so it is 0.

        That is PyTorch's convention.
        """
        found = super().read(result, node)
        begins = self.unseeded.get(self.derivative_name, 0.0)
        return 0.0 if found is None and begins is None else found

    def reset(self, nodes: list[Any]) -> None:
        """Set the gradients as they were at first, before anything is computed anew."""
        name = self.derivative_name
        for node in nodes if name else []:
            if getattr(node, name, None) is not None:
                setattr(node, name, copy.deepcopy(self.unseeded.get(name, 0.0)))


class PullEngine(LearnerEngine):
    """`Var` whose `grad()` asks its children; the output is seeded by hand: `y.grad_value = 1`."""

    shape = "value"
    modes = ("reverse",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        for self.cls in classes(namespace, names.get("node")):
            node = construct(self.cls, 0.75) if constructs(self.cls, 0.75) else None
            method = first((names["grad"],) if "grad" in names else GRADIENT_NAMES, node)
            held = held_derivatives(node)
            if inspect.ismethod(method) and required(method) == 0 and held:
                self.method, self.asked = method.__name__, list[Any]()
                self.seed, self.unseeded = next(iter(held.items()))
                return
        raise NoEngine

    def make(self, value: Any) -> Any:
        """Make an input."""
        return construct(self.cls, value)

    def sweep(self, mode: str, node: Any) -> Any:
        """Seed the output; its ancestors are asked when they are read."""
        setattr(node, self.seed, 1.0)
        self.asked.append(node)

    def read(self, result: Any, node: Any) -> Any:
        """Ask a node for its derivative."""
        self.asked.append(node)
        return 0 if is_number(node) else to_float(getattr(node, self.method)(), self)

    def read_all(self, result: Any, nodes: dict[str, Any]) -> dict[str, Any]:
        """Ask all nodes for their derivatives."""
        return {name: self.read(result, node) for name, node in nodes.items()}

    def reset(self, nodes: list[Any]) -> None:
        """Forget the derivatives, as the users of this shape do before they compute anew."""
        for node in [*self.asked, *nodes]:
            if not is_number(node):
                setattr(node, self.seed, self.unseeded)
        self.asked.clear()


class NodeEngine(LearnerEngine):
    """`Node` with functions `forward`, `backward` or both."""

    shape = "node"

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        wanted = {"reverse": ("backward", BACKWARD_NAMES), "forward": ("forward", FORWARD_NAMES)}
        self.sweeps = {}
        for mode, (key, usual) in wanted.items():
            function = first((names[key],) if key in names else usual, self.functions)
            if function is not None and required(function) in (1, 2):
                self.sweeps[mode] = function
        self.modes = tuple(self.sweeps)
        if not self.sweeps:
            raise NoEngine
        self.cls = choose_class(namespace, names.get("node"))

    def make(self, value: Any) -> Any:
        """Make an input."""
        return construct(self.cls, value)

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node."""
        return call_sweep(self.sweeps[mode], node, self.inputs)


class TapeEngine(LearnerEngine):
    """`Tape` with a method that makes inputs, `tape.variable(2)`, or that records `Variable(2)`.

    Or a class is given the tape: `Variable(2, tape)`. The tape sweeps, or a function, or a node. A
    tape may be a context: `with Tape() as tape`.
    """

    shape = "tape"

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        tapes = [c for c in classes(namespace, names.get("tape")) if "tape" in c.__name__.lower()]
        tapes = [c for c in tapes if constructs(c)]
        if not tapes:
            raise NoEngine
        self.cls: type = tapes[0]
        self.tape: Any = None
        self.node_class: type | None = None
        others = {name: thing for name, thing in namespace.items() if thing is not self.cls}
        given = (c for c in classes(others, names.get("node")) if takes_tape(c))
        self.given_tape: type | None = next(given, None)
        if self.makes_inputs():
            self.given_tape = None
        elif self.given_tape is None:
            if first((*BACKWARD_NAMES, *GRADIENT_NAMES), self.cls) is None:
                raise NoEngine
            self.node_class = choose_class(others, names.get("node"))
        self.start()
        node = self.make(0.75)
        self.modes = tuple(
            mode for mode, usual in SWEEP_NAMES.items() if self.sweeper(usual, node) is not None
        )
        if not self.modes:
            raise NoEngine

    def makes_inputs(self) -> bool:
        """Tell whether a method of the tape makes an input from a number."""
        self.start()
        try:
            return first(INPUT_NAMES, self.tape)(0.75) is not None
        except Exception:
            return False

    def start(self) -> None:
        """Begin a new tape, and leave the last one, where tapes are contexts."""
        is_context = hasattr(self.cls, "__enter__")
        if is_context and self.tape is not None:
            self.tape.__exit__(None, None, None)
        self.tape = self.cls()
        if is_context:
            self.tape.__enter__()

    def make(self, value: Any) -> Any:
        """Make an input."""
        if self.given_tape is not None:
            names = [p.name for p in parameters(self.given_tape)[:2]]
            return self.given_tape(**{n: self.tape if n == "tape" else value for n in names})
        if self.node_class is None:
            return first(INPUT_NAMES, self.tape)(value)
        node = construct(self.node_class, value)
        watch = first(WATCH_NAMES, self.tape)
        if watch is not None:
            watch(node)
        return node

    def sweeper(self, usual: tuple[str, ...], node: Any) -> Any:
        """Return what sweeps: a method of the tape, a function, or a method of nodes."""
        method = first(usual, self.tape)
        if inspect.ismethod(method):  # a list has a method reverse, which is another thing
            return lambda: call_sweep(method, node, self.inputs)
        function = first(tuple(n for n in usual if n not in GRADIENT_NAMES), self.functions)
        if function is not None and required(function) == 1:
            return lambda: function(node)
        return first(usual, node)

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node."""
        return by_input(self.sweeper(SWEEP_NAMES[mode], node)(), self.inputs)


class Place:
    """A node that an engine knows by its place on a tape alone, an integer."""

    def __init__(self, index: int) -> None:
        self.index = index


class RecorderEngine(LearnerEngine):
    """`graph.mul(x, z)`: operations are methods of what records them, or functions of a module.

    Nodes are what `graph.input(2)` returns, which may be a place in a list: an integer.
    """

    shape = "tape"
    modes = ("reverse",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        self.recorder: Any = None
        self.cls: type | None = None
        recorders = [c for c in classes(namespace, names.get("tape")) if constructs(c)]
        for self.cls in [*recorders, None]:
            self.start()
            self.backward = self.name_of((names.get("backward", ""), *BACKWARD_NAMES))
            self.input = next(filter(self.makes_inputs, INPUT_NAMES), "")
            if self.backward and self.input:
                break
        else:
            raise NoEngine
        self.list_of_values = self.find_values()

    def start(self) -> None:
        """Begin a new graph; a module has one for ever."""
        self.recorder = self.cls() if self.cls is not None else self.functions

    def name_of(self, names: tuple[str, ...]) -> str:
        """Return the first of some names that is a function of the recorder."""
        return next((name for name in names if first((name,), self.recorder)), "")

    def makes_inputs(self, name: str) -> bool:
        """Tell whether a function makes an input from a number."""
        try:
            return first((name,), self.recorder)(0.75) is not None
        except Exception:
            return False

    def make(self, value: Any) -> Any:
        """Make an input."""
        return as_node(first((self.input,), self.recorder)(value))

    def find_values(self) -> str:
        """Return the name of the list of numbers, where nodes are places in it."""
        node = self.make(0.75)
        lists = {name: found for name, found in self.held.items() if isinstance(found, list)}
        made = (name for name, found in lists.items() if found and found[-1] == 0.75)
        return next(made, "") if isinstance(node, Place) else ""

    @property
    def held(self) -> dict[str, Any]:
        """What the recorder holds."""
        return self.namespace if self.cls is None else vars(self.recorder)

    def value(self, node: Any) -> Any:
        """Return the number of a node."""
        if not isinstance(node, Place):
            return super().value(node)
        return self.held[self.list_of_values][node.index] if self.list_of_values else None

    def apply(self, operation: str, args: list[Any]) -> Any:
        """Do one operation; where nodes are integers, no number can be an operand."""
        operation = "add" if operation == "iadd" else operation
        method = first(spellings(operation), self.recorder)
        if method is None:
            return super().apply(operation, args)
        places = [isinstance(arg, Place) for arg in args]
        if any(places) and not all(places) and operation != "pow":
            raise NotImplementedError(operation)
        return as_node(method(*map(as_given, args)))

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node, or from the last one."""
        function = first((self.backward,), self.recorder)
        return call_sweep(function, node, self.inputs, as_given)


def as_node(found: Any) -> Any:
    """Return what an engine handed out; an integer is a place."""
    return Place(found) if isinstance(found, int) else found


def as_given(node: Any) -> Any:
    """Return a node as an engine is given it."""
    return node.index if isinstance(node, Place) else node


def takes_tape(cls: type) -> bool:
    """Tell whether a class is made of a value and a tape, in either order."""
    try:
        names = [p.name for p in parameters(cls) if p.kind is not p.VAR_POSITIONAL]
    except (TypeError, ValueError):
        return False
    return len(names) == 2 and "tape" in names


SWEEP_NAMES = {"reverse": (*BACKWARD_NAMES, *GRADIENT_NAMES), "forward": FORWARD_NAMES}
SEED_NAMES = ("seed", "grad", "g", "dy", "dout", "upstream", "bar", "adjoint", "v", "value", "dz")


def call_sweep(
    function: Callable[..., Any],
    node: Any,
    inputs: Sequence[Any],
    as_given: Callable[[Any], Any] = lambda node: node,
) -> Any:
    """Sweep from a node by a function of it alone, or of it and a seed, an input or all of them.

    A function of nothing sweeps from the last node.
    """
    if not inspect.signature(function).parameters:
        return function()
    root = as_given(node)
    if required(function) < 2:
        return function(root)
    second = parameters(function)[1].name
    if any(second.startswith(name) for name in SEED_NAMES):
        return function(root, 1.0)
    if second.endswith("s") or len(inputs) < 1:
        return by_input(function(root, [*map(as_given, inputs)]), inputs)
    return by_input([function(root, as_given(one)) for one in inputs], inputs)


def by_input(result: Any, inputs: Sequence[Any]) -> Any:
    """Return a list of derivatives, one for each input, as a mapping."""
    if isinstance(result, (list, tuple)) and len(result) == len(inputs):
        return {id(node): found for node, found in zip(inputs, result, strict=True)}
    return result
