"""Unusual names: find nodes, operations, sweeps and `grad` by their behaviour.

A learner may write `valeur`, `梯度` or `propagate`. Such names are found by what they do: products
multiply the value of nodes, and a sweep from y = x z + x changes some number of x.

This file runs in the learner's process too: of the library it imports the files of shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import product
from typing import Any

from simpleautodiff.learn.grading.function_shapes import GradEngine, makes_no_function
from simpleautodiff.learn.grading.learner_engine import (
    LearnerEngine,
)
from simpleautodiff.learn.grading.learner_names import (
    FUNCTIONS_OF_NUMBERS,
    PYTHON_OPERATORS,
)
from simpleautodiff.learn.grading.learner_nodes import (
    classes,
    construct,
    constructs,
    find_value_name,
    is_number,
    read_attributes,
    required,
    to_float,
)
from simpleautodiff.learn.grading.node_shapes import call_sweep
from simpleautodiff.learn.grading.sweep_results import holds_derivatives, look_up

X, Z = 0.75, 0.5
ONE_ARGUMENT = ("sin", "cos", "exp", "log", "sqrt", "tanh")  # no two have the same value at X
TWO_ARGUMENTS = ("add", "sub", "mul", "div")


def guess_names(namespace: dict[str, Any], names: dict[str, str]) -> dict[str, str]:
    """Return the names that would describe the engine; {} if nothing behaves like one."""
    for cls in classes(namespace, names.get("node")):
        if constructs(cls, X):
            found = _Guess(namespace, names, cls)
            if found.guess_value() and found.guess_operations() and found.guess_sweeps():
                return found.names
    return _guess_grad(namespace)


class _Guess:
    """What has been found out about an engine with a certain class of nodes."""

    def __init__(self, namespace: dict[str, Any], names: dict[str, str], cls: type) -> None:
        self.names, self.cls = {**names, "node": cls.__name__}, cls
        self.engine = LearnerEngine(namespace, self.names)
        methods = {name: getattr(cls, name) for name in dir(cls) if not name.startswith("__")}
        self.methods = {name: of_any(name, f) for name, f in methods.items() if callable(f)}

    def callables(self, count: int) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Yield the functions and methods of that many nodes."""
        for name, function in {**self.methods, **self.engine.functions}.items():
            if not isinstance(function, type) and required(function) == count:
                yield name, function

    def guess_value(self) -> bool:
        """Find the attribute that holds the number of a node."""
        found = find_value_name(construct(self.cls, X), X)
        self.names.setdefault("value", found)
        self.engine.value_name = self.names["value"]
        return bool(found)

    def guess_operations(self) -> bool:
        """Find functions by their values: only one function has the value sin(0.75) at 0.75."""
        for operation in (*ONE_ARGUMENT, *TWO_ARGUMENTS):
            if not self.can(operation):
                count, right = len(_point(operation)), _value(operation)
                for name, function in self.callables(count):
                    if operation not in self.names and self.gives(function, count, right):
                        self.names[operation] = name
        return self.can("add") and self.can("mul")

    def can(self, operation: str) -> bool:
        """Tell whether an operation works with the names found so far."""
        count = len(_point(operation))
        hidden = operation in PYTHON_OPERATORS  # a sum is a sum, if its value cannot be seen
        return self.gives(partial(self.apply, operation), count, _value(operation), hidden)

    def apply(self, operation: str, *nodes: Any) -> Any:
        """Do one operation."""
        return self.engine.apply(operation, list(nodes))

    def gives(
        self, function: Callable[..., Any], count: int, right: float, hidden: bool = False
    ) -> bool:
        """Tell whether a function of some nodes returns a node with this value, or a hidden one."""
        try:
            node = function(*(construct(self.cls, x) for x in (X, Z)[:count]))
            value = self.engine.value(node)
        except Exception:
            return False
        if is_number(node) or node is NotImplemented:
            return False
        return hidden if value is None else is_number(value) and abs(value - right) < 1e-9

    def guess_sweeps(self) -> bool:
        """Find the functions or methods that sweep: from y back to x, or from x to y."""
        for name, function in (*self.callables(1), *self.callables(2)):
            for mode in ("backward", "forward"):
                if mode not in self.names:
                    self.try_sweep(mode, name, function)
        if "backward" not in self.names and "forward" not in self.names:
            self.guess_question()
        return not {"backward", "forward", "grad"}.isdisjoint(self.names)

    def try_sweep(self, mode: str, name: str, function: Callable[..., Any]) -> None:
        """Test whether a sweep over y = x z + x, from one end, finds a derivative at the other."""
        x, z = construct(self.cls, X), construct(self.cls, Z)
        y = self.apply("add", self.apply("mul", x, z), x)
        root, other = (y, x) if mode == "backward" else (x, y)
        before = _numbers(other)
        try:
            result = call_sweep(function, root, [x, z])
        except Exception:
            return
        after = _numbers(other).items()
        changed = [key for key, number in after if number and before.get(key) != number]
        held = holds_derivatives(result, other) and look_up(result, other)
        if changed or to_float(held, self.engine) is not None:
            self.names[mode] = name
            self.names |= {"derivative": changed[0]} if changed else {}

    def guess_question(self) -> None:
        """Find the method that asks for a derivative, x.ask(), after y.slope = 1 by hand."""
        methods = [name for name, f in self.methods.items() if required(f) == 1]
        blank = read_attributes(construct(self.cls, X)).items()
        slopes = [name for name, held in blank if held is None or (is_number(held) and held == 0)]
        for name, slope in product(methods, slopes):
            x, z = construct(self.cls, X), construct(self.cls, Z)
            setattr(self.apply("add", self.apply("mul", x, z), x), slope, 1.0)
            try:
                found = getattr(x, name)()
            except Exception:
                continue
            if is_number(found) and found:
                self.names |= {"grad": name, "derivative": slope}
                return


def of_any(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method as a function of any node: a sum may be of another class than inputs."""

    @wraps(method)
    def call(node: Any, *rest: Any) -> Any:
        return getattr(node, name)(*rest)

    return call


def _point(operation: str) -> tuple[float, ...]:
    """Return the arguments at which an operation is tried."""
    return (X, Z) if operation in TWO_ARGUMENTS else (X,)


def _value(operation: str) -> float:
    """Return the value of an operation at these arguments."""
    return float({**FUNCTIONS_OF_NUMBERS, **PYTHON_OPERATORS}[operation](*_point(operation)))


def _numbers(node: Any) -> dict[str, Any]:
    """Return the attributes of a node that are numbers."""
    return {name: held for name, held in read_attributes(node).items() if is_number(held)}


def _guess_grad(namespace: dict[str, Any]) -> dict[str, str]:
    """Find a function that calls its argument, a function, with nodes."""
    for name, function in LearnerEngine(namespace, {}).functions.items():
        try:
            if required(function) != 1 or makes_no_function(function):
                continue
            node = GradEngine(namespace, {"grad": name}).make(X)
        except Exception:
            continue
        if not is_number(node):
            found = _Guess(namespace, {"grad": name}, type(node))
            known = constructs(type(node), X) and found.guess_value() and found.guess_operations()
            return found.names if known else {"grad": name}
    return {}
