"""Engines that record on a tape or in a graph: `Tape`, `graph.mul(x, z)`.

This file runs in the learner's process too: of the library it imports the files of shapes alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from simpleautodiff.learn.grading.learner_engine import (
    LearnerEngine,
)
from simpleautodiff.learn.grading.learner_names import (
    BACKWARD_NAMES,
    FORWARD_NAMES,
    GRADIENT_NAMES,
    INPUT_NAMES,
    WATCH_NAMES,
    NoEngine,
    first,
    spellings,
)
from simpleautodiff.learn.grading.learner_nodes import (
    choose_class,
    classes,
    construct,
    constructs,
    parameters,
    required,
)
from simpleautodiff.learn.grading.node_shapes import by_input, call_sweep

SWEEP_NAMES = {"reverse": (*BACKWARD_NAMES, *GRADIENT_NAMES), "forward": FORWARD_NAMES}


class TapeEngine(LearnerEngine):
    """`Tape` with a method that makes inputs, `tape.variable(2)`, or that records `Variable(2)`.

    Or a class is given the tape: `Variable(2, tape)`. The tape sweeps, or a function, or a node. A
    tape may be a context: `with Tape() as tape`.
    """

    shape = "tape"

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        self.cls = next(find_tapes(namespace, names.get("tape")), object)
        if self.cls is object:
            raise NoEngine
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
        """Tell whether a method of the tape makes inputs from numbers."""
        self.start()
        try:
            return first(INPUT_NAMES, self.tape)(0.75) is not None
        except Exception:
            return False

    def start(self) -> None:
        """Begin a new tape; if tapes are contexts, exit the last one."""
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
        """Return what does the sweep: a method of the tape, a function, or a method of the node."""
        method = first(usual, self.tape)
        if inspect.ismethod(method):  # `reverse` of a list is no sweep
            return lambda: call_sweep(method, node, self.inputs)
        function = first(tuple(n for n in usual if n not in GRADIENT_NAMES), self.functions)
        if function is not None and required(function) == 1:
            return lambda: function(node)
        return first(usual, node)

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node."""
        return by_input(self.sweeper(SWEEP_NAMES[mode], node)(), self.inputs)


def find_tapes(namespace: dict[str, Any], wanted: str | None) -> Iterator[type]:
    """Yield the classes that are called tapes, and those whose nodes have operators."""
    made = [c for c in classes(namespace, wanted) if constructs(c)]
    named = [c for c in made if "tape" in c.__name__.lower()]
    yield from named
    for cls in made if not named else []:
        try:
            node = first(INPUT_NAMES, cls())(0.75)
            if hasattr(node, "__mul__") and not isinstance(node, (int, float, str)):
                yield cls
        except Exception:
            continue


class Place:
    """A node that is only a key: the index in a list, or a name in a dict."""

    def __init__(self, index: int | str) -> None:
        self.index = index


class RecorderEngine(LearnerEngine):
    """`graph.mul(x, z)`: operations are methods of a recorder, or functions of a module.

    Nodes are what `graph.input(2)` returns, which may be an index in a list, or a name.
    """

    shape = "tape"
    modes = ("reverse",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        self.recorder: Any = None
        self.cls: type | None = None
        self.count = 0  # of inputs, which may want a name
        recorders = [c for c in classes(namespace, names.get("tape")) if constructs(c)]
        for self.cls in [*recorders, None]:
            self.start()
            gradients = GRADIENT_NAMES if self.cls is not None else ()  # or a function of functions
            usual = (*BACKWARD_NAMES, *gradients)
            self.backward = self.name_of((names.get("backward", ""), *usual))
            self.input = next(filter(self.makes_inputs, INPUT_NAMES), "")
            if self.backward and self.input:
                break
        else:
            raise NoEngine
        self.list_of_values = self.find_values()

    def start(self) -> None:
        """Begin a new graph; a module has only one."""
        self.recorder = self.cls() if self.cls is not None else self.functions

    def name_of(self, names: tuple[str, ...]) -> str:
        """Return the first of these names that the recorder has a function for."""
        return next((name for name in names if first((name,), self.recorder)), "")

    def makes_inputs(self, name: str) -> bool:
        """Tell whether a function of the recorder makes inputs from numbers."""
        try:
            return self.call_input(first((name,), self.recorder), 0.75) is not None
        except Exception:
            return False

    def make(self, value: Any) -> Any:
        """Make an input."""
        return as_node(self.call_input(first((self.input,), self.recorder), value))

    def call_input(self, function: Any, value: Any) -> Any:
        """Make an input of a number, or of a name and a number."""
        self.count += 1
        return function(value) if required(function) < 2 else function(f"x{self.count}", value)

    def find_values(self) -> str:
        """Return the name of the list or dict of values, if nodes are keys of it."""
        node = self.make(0.75)
        held = {name: found for name, found in self.held.items() if isinstance(found, (list, dict))}
        if not isinstance(node, Place):
            return ""
        return next((name for name, found in held.items() if has(found, node.index, 0.75)), "")

    @property
    def held(self) -> dict[str, Any]:
        """The attributes of the recorder."""
        return self.namespace if self.cls is None else vars(self.recorder)

    def value(self, node: Any) -> Any:
        """Return the number of a node."""
        if not isinstance(node, Place):
            return super().value(node)
        return self.held[self.list_of_values][node.index] if self.list_of_values else None

    def apply(self, operation: str, args: list[Any]) -> Any:
        """Apply one operation; if nodes are integers, numbers cannot be operands."""
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
    """Return a node of an engine; an integer or a name becomes a `Place`."""
    return Place(found) if isinstance(found, (int, str)) else found


def has(found: Any, key: Any, value: float) -> bool:
    """Tell whether a list or dict has this value at a key."""
    try:
        return bool(found[key] == value)
    except (LookupError, TypeError):
        return False


def as_given(node: Any) -> Any:
    """Return a node in the form that the engine takes."""
    return node.index if isinstance(node, Place) else node


def takes_tape(cls: type) -> bool:
    """Tell whether a class is constructed from a value and a tape, in either order."""
    try:
        names = [p.name for p in parameters(cls) if p.kind is not p.VAR_POSITIONAL]
    except (TypeError, ValueError):
        return False
    return len(names) == 2 and "tape" in names
