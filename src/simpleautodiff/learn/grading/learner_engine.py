"""A learner's engine, used through one interface, whatever its names are.

This file runs in the learner's process too: of the library it imports `sweep_results` alone.
"""

from __future__ import annotations

import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count
from numbers import Number
from typing import Any

from simpleautodiff.learn.grading.sweep_results import (
    MISSING,
    UnreadableResult,
    describe,
    holds_derivatives,
    look_up,
)

VALUE_NAMES = ("value", "data", "val", "v", "primal", "real", "x", "a", "number", "item", "f")
DERIVATIVE_NAMES = (
    *("grad", "partial_derivative", "derivative", "adjoint", "bar", "dot", "gradient", "deriv"),
    *("der", "d", "adj", "tangent", "dual", "eps", "dx", "dv", "df", "b", "grad_value", "_grad"),
    *("prime", "partial"),
)
BACKWARD_NAMES = (
    *("backward", "reverse", "backprop", "backpropagate", "reverse_mode", "back", "derive"),
    *("backward_pass", "reverse_sweep", "get_gradients", "compute_gradients", "gradients"),
)
FORWARD_NAMES = ("forward", "forward_mode", "forward_sweep", "forward_pass")
GRADIENT_NAMES = (
    *("grad", "gradient", "derivative", "derivatives", "differentiate", "diff", "jacobian"),
    *("value_and_grad", "value_and_gradient", "autograd", "autodiff"),
)
INPUT_NAMES = (
    *("input", "var", "variable", "new_var", "new_variable", "leaf", "new", "watch", "track"),
    *("make_input", "add_input", "new_input", "parameter", "param", "unit", "scalar", "node"),
)
WATCH_NAMES = ("watch", "track", "register")
COMPUTE_NAMES = ("forward", "evaluate", "eval", "compute")
RESET_NAMES = (
    *("zero_grad", "zero_grads", "reset", "reset_grad", "reset_grads", "clear_grads", "clear"),
    *("zero_gradients", "reset_tape", "clear_tape", "reset_graph", "clear_graph"),
)
LABEL_NAMES = ("name", "label", "key", "symbol")  # of what tells inputs apart
TRACKING_NAMES = ("requires_grad", "autograd", "requires_gradient", "trainable", "track")
CLASS_NAMES = ("Node", "Value", "Var", "Variable", "Scalar", "Tensor", "Number", "Dual")
PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul},
    **{"div": operator.truediv, "pow": operator.pow, "neg": operator.neg, "iadd": operator.iadd},
}
DUNDERS = {"div": "__truediv__"}
SPELLINGS = {
    **{"sub": ("sub", "subtract", "minus"), "mul": ("mul", "multiply", "times", "prod")},
    **{"add": ("add", "plus"), "div": ("div", "divide", "truediv"), "neg": ("neg", "negative")},
    **{"pow": ("pow", "power", "pow_"), "log": ("log", "ln"), "abs": ("abs", "absolute", "abs_")},
    **{"max": ("maximum", "max", "max_"), "iadd": ("iadd",)},
}


FUNCTIONS_OF_NUMBERS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh")},
    **{"abs": abs, "max": max, "relu": lambda x: max(x, 0.0)},
}


INPUT_COUNT = count(1)  # inputs that want a name are x1, x2, ...


class NoEngine(Exception):
    """Raised when nothing in a module looks like an engine."""


def spellings(operation: str) -> tuple[str, ...]:
    """Return the names that an operation goes by."""
    return SPELLINGS.get(operation, (operation,))


def first(names: tuple[str, ...], holder: Any) -> Any:
    """Return the first of some attributes that is callable."""
    for name in names:
        found = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
        if callable(found):
            return found
    return None


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
    cls: type | None = None  # of nodes
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
                if self.value(node) is None and self.modes == ("reverse",):
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


def is_of_math(function: Any) -> bool:
    """Tell whether a function takes only plain numbers, as after `from math import sin`."""
    return getattr(function, "__module__", "") in ("math", "cmath", "builtins", "_operator")


def attributes(node: Any) -> set[str]:
    """Return the names of a node's attributes, in slots and properties too; or the keys of one."""
    return set(getattr(node, "__dict__", ())) | set(node if type(node) is dict else dir(type(node)))


def attribute(node: Any, name: str) -> Any:
    """Return an attribute of a node, which may be a dict; None where there is none."""
    return node.get(name) if type(node) is dict else getattr(node, name, None)


def is_array(x: Any) -> bool:
    """Tell whether something is an array of NumPy; NumPy is not imported for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, getattr(numpy, "ndarray", ()))


def is_number(x: Any) -> bool:
    """Tell whether something is a number, or an array of one element."""
    return (isinstance(x, Number) and not isinstance(x, bool)) or (is_array(x) and x.size == 1)


def to_float(x: Any, engine: LearnerEngine) -> Any:
    """Return a number, or the value of a node, as a float; None for anything else.

    An object without operators is an answer: a value with a derivative, which is what is asked.
    """
    if x is None or isinstance(x, (bool, str)):
        return None
    try:
        return float(x.item() if is_array(x) and x.size == 1 else x)
    except (TypeError, ValueError, OverflowError):
        pass
    if hasattr(x, "__dict__") and not hasattr(x, "__add__") and type(x) is not engine.cls:
        return next((d for d in held_derivatives(x).values() if is_number(d)), None)
    inner = getattr(x, engine.value_name, None) if engine.value_name else None
    return to_float(inner, engine) if inner is not None and inner is not x else evaluate(x)


def evaluate(node: Any) -> Any:
    """Return the number of an expression that is computed when it is asked; else None."""
    method = first(COMPUTE_NAMES, node)
    found = method() if inspect.ismethod(method) and required(method) == 0 else None
    return found if is_number(found) else None


def static_functions(namespace: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the operations that are static methods, F.sin(x), and functions that reset a class."""
    names = {*RESET_NAMES, *FUNCTIONS_OF_NUMBERS, *PYTHON_OPERATORS}
    names |= {spelling for spelled in SPELLINGS.values() for spelling in spelled}
    return {
        name: getattr(cls, name)
        for cls in classes(namespace, None)
        for name, member in vars(cls).items()
        if name in names and isinstance(member, (staticmethod, classmethod))
    }


def classes(namespace: dict[str, Any], wanted: str | None) -> Iterator[type]:
    """Yield the classes of a module: the wanted one, those with operators, then all others."""
    own = [c for c in namespace.values() if inspect.isclass(c)]
    home = namespace.get("__name__")
    own = [c for c in own if f"{c.__module__}.".startswith(f"{home}.") or c.__name__ == wanted]
    own = [c for c in own if wanted in (None, c.__name__)]
    own.sort(key=lambda c: (c.__name__ not in CLASS_NAMES, not hasattr(c, "__add__")))
    yield from dict.fromkeys(own)


def choose_class(
    namespace: dict[str, Any],
    wanted: str | None,
    fits: Callable[[Any], Any] = lambda node: True,
) -> type:
    """Choose the class of inputs: constructed from a number, which it preferably stores."""
    found = [c for c in classes(namespace, wanted) if constructs(c, 0.75)]
    found = [c for c in found if fits(construct(c, 0.75))]
    if not found:
        raise NoEngine
    return next((c for c in found if holds(construct(c, 0.75), 0.75)), found[0])


def holds(node: Any, value: float) -> bool:
    """Tell whether some attribute of a node holds a number."""
    return any(is_number(x) and x == value for x in read_attributes(node).values())


def read_attributes(node: Any) -> dict[str, Any]:
    """Return the values of the attributes of a node; properties that raise are left out."""
    held = {}
    for name in sorted(attributes(node)):
        try:
            held.update({} if name.startswith("__") else {name: attribute(node, name)})
        except Exception:
            continue
    return held


def find_value_name(node: Any, value: float) -> str:
    """Return the attribute that holds the number a node was made of, best one that is usual."""
    held = {name: x for name, x in read_attributes(node).items() if is_number(x) and x == value}
    return next((name for name in (*VALUE_NAMES, *held) if name in held), "")


def held_derivatives(node: Any, named: str = "") -> dict[str, Any]:
    """Return the values of the attributes of a new node that are named like a derivative."""
    held = read_attributes(node)
    names = (named,) if named else DERIVATIVE_NAMES
    return {n: held[n] for n in names if n in held and not callable(held[n])}


def construct(cls: type, *args: float, shape: tuple[int, ...] = ()) -> Any:
    """Make an input from numbers, or from arrays if it takes no numbers; ask for its gradient."""
    optional = keywords(cls)
    options: dict[str, Any] = {name: True for name in optional if name in TRACKING_NAMES}
    if len(args) == 1 and required(cls) == 2:
        labels = [p.name for p in parameters(cls) if p.name in LABEL_NAMES]
        options |= {name: f"x{next(INPUT_COUNT)}" for name in labels}
        if labels:  # the value is the other parameter
            value = next(p.name for p in parameters(cls) if p.name not in labels)
            return cls(**{value: args[0]}, **options)
    value = next((name for name in optional if name in VALUE_NAMES[:4]), None)
    if len(args) == 1 and value and optional[0] not in VALUE_NAMES and required(cls) == 0:
        return cls(**{value: args[0]}, **options)  # the first parameter is not the value
    try:
        return cls(*args, **options)
    except Exception:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            raise
        return cls(*(numpy.full(shape, arg) for arg in args), **options)


def constructs(cls: type, *args: float) -> bool:
    """Tell whether a class can be constructed from these numbers."""
    try:
        construct(cls, *args)
    except Exception:
        return False
    return True


def keywords(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that have a default."""
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in every if p.default is not p.empty]


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the required parameters of a function; *args counts as one."""
    usual = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    every = inspect.signature(function).parameters.values()
    given = [p for p in every if p.kind in usual and p.default is p.empty]
    return [*given, *(p for p in every if p.kind is p.VAR_POSITIONAL)]


def required(function: Callable[..., Any]) -> int:
    """Count the required parameters of a function."""
    try:
        return len(parameters(function))
    except (TypeError, ValueError):
        return 1
