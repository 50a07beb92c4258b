"""The shapes in which engines are written, found automatically.

This file runs in the learner's process too: of the library it imports `learner_engine` alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from simpleautodiff.learn.grading.learner_engine import (
    BACKWARD_NAMES,
    CLASS_NAMES,
    DERIVATIVE_NAMES,
    FORWARD_NAMES,
    GRADIENT_NAMES,
    INPUT_NAMES,
    LearnerEngine,
    NoEngine,
    attributes,
    first,
    is_number,
    to_float,
)


class ValueEngine(LearnerEngine):
    """`Value` with `.grad` and `backward()`."""

    shape = "value"
    modes = ("reverse",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        self.backward = names.get("backward", "")
        for self.cls in classes(namespace, names.get("node")):
            if constructs(self.cls, 0.75):
                node = self.cls(0.75)
                names_of = (self.backward,) if self.backward else BACKWARD_NAMES
                found = [n for n in names_of if callable(getattr(node, n, None))]
                if found:
                    self.backward = found[0]
                    return
        raise NoEngine

    def make(self, value: Any) -> Any:
        """Make an input."""
        return self.cls(value)

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node."""
        return getattr(node, self.backward)()

    def reset(self, nodes: list[Any]) -> None:
        """Set the gradients to 0, as the users of this shape do before they compute anew."""
        for node in nodes:
            name = self.derivative_name
            if name and is_number(getattr(node, name, None)):
                setattr(node, name, 0.0)


class PullEngine(LearnerEngine):
    """`Var` whose `grad()` asks its children; the output is seeded by hand: `y.grad_value = 1`."""

    shape = "value"
    modes = ("reverse",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        for self.cls in classes(namespace, names.get("node")):
            node = self.cls(0.75) if constructs(self.cls, 0.75) else None
            method = first((names["grad"],) if "grad" in names else GRADIENT_NAMES, node)
            held = [n for n in DERIVATIVE_NAMES if n in getattr(node, "__dict__", ())]
            if inspect.ismethod(method) and required(method) == 0 and held:
                self.method, self.seed = method.__name__, held[0]
                self.unseeded, self.asked = getattr(node, self.seed), list[Any]()
                return
        raise NoEngine

    def make(self, value: Any) -> Any:
        """Make an input."""
        return self.cls(value)

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
            if function is not None and required(function) == 1:
                self.sweeps[mode] = function
        self.modes = tuple(self.sweeps)
        built = [c for c in classes(namespace, names.get("node")) if constructs(c, 0.75)]
        if not self.sweeps or not built:
            raise NoEngine
        self.cls = built[0]

    def make(self, value: Any) -> Any:
        """Make an input."""
        return self.cls(value)

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node."""
        return self.sweeps[mode](node)


class TapeEngine(LearnerEngine):
    """`Tape` with a method that makes inputs: `tape.variable(2)`; it, a function, a node sweeps."""

    shape = "tape"

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        tapes = [c for c in classes(namespace, names.get("tape")) if "tape" in c.__name__.lower()]
        tapes = [c for c in tapes if first(INPUT_NAMES, c) is not None and constructs(c)]
        if not tapes:
            raise NoEngine
        self.cls = tapes[0]
        self.start()
        node = self.make(0.75)
        self.modes = tuple(
            mode
            for mode, usual in (
                ("reverse", (*BACKWARD_NAMES, *GRADIENT_NAMES)),
                ("forward", FORWARD_NAMES),
            )
            if self.sweeper(mode, usual, node) is not None
        )
        if not self.modes:
            raise NoEngine

    def start(self) -> None:
        """Begin a new tape."""
        self.tape = self.cls()

    def make(self, value: Any) -> Any:
        """Make an input."""
        return (first(INPUT_NAMES, self.tape))(value)

    def sweeper(self, mode: str, usual: tuple[str, ...], node: Any) -> Any:
        """Return what sweeps: a method of the tape, a function, or a method of nodes."""
        inputs = self.inputs
        method = first(usual, self.tape)
        if inspect.ismethod(method):  # a list has a method reverse, which is another thing
            return lambda: method(node, inputs) if required(method) > 1 else method(node)
        function = first(tuple(n for n in usual if n not in GRADIENT_NAMES), self.functions)
        if function is not None and required(function) == 1:
            return lambda: function(node)
        method = first(usual, node)
        return method

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node."""
        usual = (*BACKWARD_NAMES, *GRADIENT_NAMES) if mode == "reverse" else FORWARD_NAMES
        result = self.sweeper(mode, usual, node)()
        if isinstance(result, (list, tuple)) and len(result) == len(self.inputs):
            return {id(node): found for node, found in zip(self.inputs, result, strict=True)}
        return result

    inputs: list[Any] = []  # noqa: RUF012 - set before each sweep


class GradEngine(LearnerEngine):
    """`grad(f)`: a function that makes the function of derivatives."""

    shape = "grad"
    modes = ("reverse",)
    whole_graph = False

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        self.grad = first((names["grad"],) if "grad" in names else GRADIENT_NAMES, self.functions)
        if self.grad is None or required(self.grad) < 1 or inspect.isclass(self.grad):
            raise NoEngine
        self.name = getattr(self.grad, "__name__", "grad")
        self.make(0.75)  # refuses what is no engine at all

    def make(self, value: Any) -> Any:
        """Return an input as the function is given it."""
        return self.make_several([value])[0]

    def make_several(self, values: list[Any]) -> list[Any]:
        """Return inputs as the function is given them: ask the engine for them."""
        seen: list[tuple[Any, ...]] = []

        def f(*nodes: Any) -> Any:
            seen.append(nodes)
            return nodes[0]

        try:
            self.call(f, values)
        except Exception:
            if not seen:
                raise
        if not seen:
            raise NoEngine(f"{self.name}(f) returns derivatives without ever calling f")
        traced = (s for s in seen if not all(isinstance(node, (int, float)) for node in s))
        return list(next(traced, seen[0]))

    def call(self, f: Callable[..., Any], point: list[Any]) -> list[Any]:
        """Return the derivatives of f for all arguments, however the engine hands them out."""
        at_once = required(self.grad) > 1  # grad(f, x, y)
        derivative = None if at_once else self.grad(f)
        if not at_once and not callable(derivative):
            raise NoEngine(
                f"{self.name}(f) returns {derivative!r}, not the function of derivatives"
            )
        found = self.grad(f, *point) if derivative is None else derivative(*point)
        if callable(found):
            raise NoEngine(
                f"{self.name}(f, ...) returns a function: all arguments but f need a default"
            )
        if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], (list, tuple)):
            found = found[1]  # (value, derivatives)
        several = isinstance(found, (list, tuple))
        if len(point) == 1 or several:
            return list(found) if several else [found]
        others = [self.grad(f, k)(*point) for k in range(1, len(point))]  # argnum, as in autograd
        return [found, *others]


class DualEngine(LearnerEngine):
    """Dual numbers: a class made of a value and a derivative."""

    shape = "dual"
    modes = ("forward",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        for self.cls in classes(namespace, names.get("node")):
            if constructs(self.cls, 0.75, 1.0) and hasattr(self.cls, "__mul__"):
                probe = self.cls(0.75, 0.125)
                held = {n: getattr(probe, n) for n in attributes(probe) if not n.startswith("__")}
                values = [n for n, v in held.items() if is_number(v) and v == 0.75]
                slopes = [n for n, v in held.items() if is_number(v) and v == 0.125]
                if values and slopes and is_number(getattr(probe + probe, slopes[0], None)):
                    self.value_name = self.value_name or sorted(values)[0]
                    self.derivative_name = self.derivative_name or sorted(slopes)[0]
                    self.driver = self._find_driver(namespace, names)
                    return
        raise NoEngine

    def _find_driver(self, namespace: dict[str, Any], names: dict[str, str]) -> GradEngine | None:
        """Return the function `grad(f)` that seeds these numbers by itself, if there is one."""
        try:
            driver = GradEngine(namespace, names)
            return driver if isinstance(driver.make(0.75), self.cls) else None
        except Exception:
            return None

    def abilities(self) -> dict[str, Any]:
        """Find out what the numbers can do, and whether a function `grad(f)` is asked, too."""
        found = super().abilities()
        return {**found, "driver": True, "modes": ["forward", "reverse"]} if self.driver else found

    def make(self, value: Any, slope: float = 0.0) -> Any:
        """Make an input, with its derivative."""
        return self.cls(value, slope)


def classes(namespace: dict[str, Any], wanted: str | None) -> Iterator[type]:
    """Yield the classes of a module, the named one first; those with operators before others."""
    own = [c for c in namespace.values() if inspect.isclass(c)]
    home = namespace.get("__name__")
    own = [c for c in own if f"{c.__module__}.".startswith(f"{home}.") or c.__name__ == wanted]
    own = [c for c in own if wanted in (None, c.__name__)]
    own.sort(key=lambda c: (c.__name__ not in CLASS_NAMES, not hasattr(c, "__add__")))
    yield from dict.fromkeys(own)


def constructs(cls: type, *args: float) -> bool:
    """Tell whether a class can be called with these numbers."""
    try:
        cls(*args)
    except Exception:
        return False
    return True


def required(function: Callable[..., Any]) -> int:
    """Count the arguments that a function must be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    usual = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = [p for p in parameters if p.kind in usual and p.default is p.empty]
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return len(given) + several


SHAPES: dict[str, tuple[type[LearnerEngine], ...]] = {
    "tape": (TapeEngine,),
    "value": (ValueEngine, PullEngine),
    "node": (NodeEngine,),
    "dual": (DualEngine,),
    "grad": (GradEngine,),
}


def find_engine(
    namespace: dict[str, Any], shape: str = "", names: dict[str, str] | None = None
) -> LearnerEngine:
    """Find the engine in a module; `shape` and `names` say what cannot be guessed."""
    reason = ""
    tried = [(cls, name) for name, some in SHAPES.items() for cls in some]
    tried.sort(key=lambda pair: pair[0] is PullEngine)  # others may have a method grad, too
    for cls in [cls for cls, name in tried if shape in ("", name)]:
        try:
            return cls(namespace, names or {})
        except NoEngine as error:
            reason = reason or str(error)
    raise NoEngine(
        reason
        or "no engine was found: a class Node with forward or backward, a class Value with .grad "
        "and backward(), a class Tape, a function grad(f), or dual numbers"
    )
