"""A learner's engine, used through one interface, whatever its names are.

This file runs in the learner's process too: of the library it imports the files of
names, nodes and results alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from simpleautodiff.learn.grading.learner_names import (
    COMPUTE_NAMES,
    DERIVATIVE_NAMES,
    DUNDERS,
    FUNCTIONS_OF_NUMBERS,
    PYTHON_OPERATORS,
    RESET_NAMES,
    VALUE_NAMES,
    first,
    spellings,
)
from simpleautodiff.learn.grading.learner_nodes import (
    attribute,
    attributes,
    evaluate,
    is_number,
    is_of_math,
    static_functions,
    to_float,
)
from simpleautodiff.learn.grading.sweep_results import (
    MISSING,
    OfInputs,
    UnreadableResult,
    describe,
    holds_derivatives,
    look_up,
)


def find_class(operation: str, functions: dict[str, Any]) -> type:
    """Return the class of an operation: `class Sin(Op)`, or `SinOp`, `SinFunction` and so on."""
    endings = "", "op", "node", "function", "operation"
    wanted = {name + ending for name in spellings(operation) for ending in endings}
    for name, found in functions.items():
        if inspect.isclass(found) and name.lower().replace("_", "") in wanted:
            return found
    raise NotImplementedError(operation)


def call_class(cls: type, args: list[Any]) -> Any:
    """Apply an operation that is a class: `Sin.apply(x)`, `Sin()(x)`, or `Sin(x)`, a node."""
    if callable(getattr(cls, "apply", None)):
        return cls.apply(*args)  # type: ignore[attr-defined]
    return cls()(*args) if "__call__" in dir(cls) else cls(*args)


class LearnerEngine:
    """A learner's engine: how nodes are made, swept and read."""

    shape = ""
    modes: tuple[str, ...] = ()
    inputs: Sequence[Any] = ()  # of the graph that is swept
    cls: Any = None  # the class of nodes
    whole_graph = True  # nodes can be held, so any of them can be swept from and read

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        self.namespace, self.names = namespace, names
        own = {name: found for name, found in namespace.items() if callable(found)}
        own = {name: found for name, found in own.items() if not is_of_math(found)}
        self.functions = {**static_functions(namespace), **own}
        self.derivative_name = names.get("derivative", "")
        self.value_name = names.get("value", "")
        self.sample: Any = None

    # What depends on the shape. -------------------------------------------------------------------

    def make(self, value: Any) -> Any:
        """Make an input."""
        raise NotImplementedError

    def make_several(self, values: list[Any]) -> list[Any]:
        """Make the inputs of one graph."""
        return [self.make(value) for value in values]

    def start(self) -> None:
        """Begin a new graph; if there is one tape for all, empty it."""
        if self.has_tape_to_empty:
            self.call_reset([])

    def compute(self, nodes: dict[str, Any]) -> None:
        """Compute the values of a lazily built graph, by its method `forward`."""
        for node in nodes.values():
            method = first(COMPUTE_NAMES, node)
            if not is_number(node) and method is not None and self.value(node) is None:
                method()

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node; return what the engine returns."""
        raise NotImplementedError

    def reset(self, nodes: list[Any]) -> None:
        """Do what users of such engines do between two sweeps, such as zeroing gradients."""
        if not self.has_tape_to_empty:
            self.call_reset(nodes)

    def call_reset(self, nodes: list[Any]) -> None:
        """Call the function that resets the engine, if there is one."""
        function = first(RESET_NAMES, self.functions)
        if function is not None:
            takes = len(inspect.signature(function).parameters)
            function(*nodes[-1:] if takes else ())

    @cached_property
    def has_tape_to_empty(self) -> bool:
        """Whether that function empties a tape: then no sweep finds the graph that was built."""
        has_one = first(RESET_NAMES, self.functions) is not None
        return has_one and bool(self.try_reset("never")) and not self.try_reset("last")

    @cached_property
    def keeps_inputs(self) -> bool:
        """Whether inputs can be used with an emptied tape."""
        return bool(self.try_reset("before the sum"))

    def try_reset(self, moment: str) -> Any:
        """Return what is found for the derivative of x + x, if the engine is reset at a moment."""
        with suppress(Exception):
            x = self.make(0.75)
            if moment == "before the sum":
                self.call_reset([x])
            self.inputs, y = [x], self.apply("add", [x, x])
            if moment == "last":
                self.call_reset([x, y])
            root, other = (y, x) if self.modes[0] == "reverse" else (x, y)
            return self.read(self.sweep(self.modes[0], root), other)
        return None

    # What all shapes share. -----------------------------------------------------------------------

    def apply(self, operation: str, args: list[Any]) -> Any:
        """Apply one operation: by an operator, a function, or a method; numbers give numbers."""
        node = next((arg for arg in args if not isinstance(arg, (int, float))), None)
        if node is None:
            return {**PYTHON_OPERATORS, **FUNCTIONS_OF_NUMBERS}[operation](*args)
        if operation in PYTHON_OPERATORS:
            dunder = DUNDERS.get(operation, f"__{operation}__")
            if operation == "iadd":
                dunder = "__add__"
            if hasattr(type(node), dunder) and type(node) not in (dict, list, tuple):
                return PYTHON_OPERATORS[operation](*args)
            operation = "add" if operation == "iadd" else operation
        if operation == "abs" and hasattr(type(node), "__abs__"):
            return abs(node)
        named = (self.names[operation],) if operation in self.names else spellings(operation)
        function = first(named, self.functions)
        if function is not None:
            return function(*args)
        method = first(named, node)
        if method is not None:
            return method(*args[1:]) if args[0] is node else NotImplemented
        return call_class(find_class(operation, self.functions), args)

    def value(self, node: Any) -> Any:
        """Return the number in a node."""
        if isinstance(node, (int, float)) or node is None:
            return node
        if not self.value_name:
            usual = (n for n in VALUE_NAMES if is_number(attribute(node, n)))
            self.value_name = next(usual, "")
        held = attribute(node, self.value_name)
        return evaluate(node) if held is None else to_float(held, self)

    def read(self, result: Any, node: Any) -> Any:
        """Return the derivative that a sweep found for a node."""
        if isinstance(node, (int, float)):
            return 0
        if holds_derivatives(result, node):
            found = look_up(result, node)
            return 0 if found is MISSING else to_float(found, self)
        if not self.derivative_name:
            here = [name for name in DERIVATIVE_NAMES if name in attributes(node)]
            self.derivative_name = next((n for n in here if not callable(attribute(node, n))), "")
        return to_float(attribute(node, self.derivative_name), self)

    def read_all(self, result: Any, nodes: dict[str, Any]) -> dict[str, Any]:
        """Return the derivative that a sweep found for each node, by name."""
        if isinstance(result, OfInputs):
            nodes = {name: node for name, node in nodes.items() if id(node) in result}
        found = {name: self.read(result, node) for name, node in nodes.items()}
        inner = [node for node in nodes.values() if not isinstance(node, (int, float))]
        held = [node for node in inner if holds_derivatives(result, node)]
        empty = hasattr(result, "__len__") and len(result) == 0
        lost = not empty and all(look_up(result, node) is MISSING for node in held)
        if inner and (lost if held else not self.derivative_name):
            raise UnreadableResult(f"the sweep returns {describe(result)}")
        return found

    def try_operation(self, operation: str, args: Sequence[Any]) -> Any:
        """Apply an operation to new inputs with the values of these floats."""
        made = iter(self.make_several([arg for arg in args if isinstance(arg, float)]))
        return self.apply(operation, [next(made) if isinstance(a, float) else a for a in args])

    def reads_derivatives(self) -> bool:
        """Tell whether the derivatives that a sweep has found can be read."""
        return True

    def abilities(self) -> dict[str, Any]:
        """Find out which operations there are, and whether constants may be operands."""
        errors: dict[str, str] = {}

        def works(operation: str, *args: Any) -> bool:
            self.start()
            try:
                return self.try_operation(operation, args) is not NotImplemented
            except NotImplementedError:
                return False
            except Exception as error:
                errors[operation] = f"{type(error).__name__}: {error}"[:200]
                return False

        def computes(operation: str) -> bool:
            try:
                node = self.try_operation(operation, (0.75, 2))
                self.compute({"y": node})
                lazy = self.whole_graph and self.modes == ("reverse",)
                if lazy and self.value(node) is None:
                    self.sweep("reverse", node)  # which computes what is only written down
            except Exception:
                return False
            return True

        two = ("add", "sub", "mul", "div", "max")
        one = ("neg", "sin", "cos", "exp", "log", "sqrt", "tanh", "relu", "abs")
        found = [op for op in two if works(op, 0.75, 0.5)]
        found += [op for op in one if works(op, 0.75)]
        found += ["pow"] if works("pow", 0.75, 2) else []
        found += ["iadd"] if "add" in found else []
        broken = {op: error for op, error in errors.items() if op not in found}
        constants = any(works(op, 0.75, 2) and computes(op) for op in ("add", "mul", "sub"))
        self.start()
        return {
            **{"broken": broken, "numbers": isinstance(self.make(0.75), (int, float))},
            **{"shape": self.shape, "modes": list(self.modes), "operations": found},
            **{"constants": constants, "whole_graph": self.whole_graph},
        }
