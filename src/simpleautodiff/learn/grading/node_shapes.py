"""Engines whose nodes can be held: `Value`, `Var` and `Node`.

This file runs in the learner's process too: of the library it imports the files of engines alone.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from simpleautodiff.learn.grading.learner_engine import (
    LearnerEngine,
)
from simpleautodiff.learn.grading.learner_names import (
    BACKWARD_NAMES,
    FORWARD_NAMES,
    GRADIENT_NAMES,
    INPUT_NAMES,
    NoEngine,
    first,
)
from simpleautodiff.learn.grading.learner_nodes import (
    choose_class,
    classes,
    construct,
    constructs,
    find_value_name,
    held_derivatives,
    is_number,
    parameters,
    read_attributes,
    required,
    to_float,
)
from simpleautodiff.learn.grading.sweep_results import OfInputs, UnreadableResult, is_listed


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
        self.value_name = self.value_name or find_value_name(node, 0.75)
        self.backward = next(n for n in wanted if callable(getattr(node, n, None)))
        self.unseeded = held_derivatives(node, self.derivative_name)
        self.array_shape = (1,) if self.sweeps_arrays() else ()
        if first(wanted, self.functions) is not None and not self.reaches_inputs():
            raise NoEngine  # the method is the rule of one operation; a function does the sweep

    def make(self, value: Any) -> Any:
        """Make an input."""
        return construct(self.cls, value, shape=self.array_shape)

    def reads_derivatives(self) -> bool:
        """Tell whether the derivatives that a sweep has found can be read."""
        return can_read(self)

    def reaches_inputs(self) -> bool:
        """Tell whether a sweep from a sum changes the derivative of its argument."""
        x = self.make(0.75)
        before = held_derivatives(x)
        try:
            self.sweep("reverse", self.apply("add", [x, x]))
        except Exception:
            return False
        return held_derivatives(x) != before

    def sweeps_arrays(self) -> bool:
        """Tell whether nodes take arrays of one element, and refuse numbers."""
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
        if self.backward not in BACKWARD_NAMES:  # which may want the inputs: y.slope(x)
            return call_sweep(getattr(type(node), self.backward), node, self.inputs)
        return method(1.0) if required(method) == 1 else method()

    def read(self, result: Any, node: Any) -> Any:
        """Return a derivative; 0 if the sweep left the initial None, as in PyTorch.

        There may be no such attribute before a sweep makes one.
        """
        found = super().read(result, node)
        begins = self.unseeded.get(self.derivative_name)
        return 0.0 if found is None and begins is None else found

    def reset(self, nodes: list[Any]) -> None:
        """Reset the gradients to their initial values, for the next sweep."""
        name = self.derivative_name
        computed = getattr(getattr(self.cls, name, None), "fset", self) is None  # when it is read
        for node in nodes if name and not computed else []:
            if getattr(node, name, None) is not None:
                setattr(node, name, copy.deepcopy(self.unseeded.get(name)))


class PullEngine(LearnerEngine):
    """`Var` whose `grad()` sums over its children; users seed the output: `y.grad_value = 1`."""

    shape = "value"
    modes = ("reverse",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        for self.cls in classes(namespace, names.get("node")):
            node = construct(self.cls, 0.75) if constructs(self.cls, 0.75) else None
            method = first((names["grad"],) if "grad" in names else GRADIENT_NAMES, node)
            held = held_derivatives(node, self.derivative_name)
            if inspect.ismethod(method) and required(method) == 0 and held:
                self.method, self.asked = method.__name__, list[Any]()
                self.seed, self.unseeded = next(iter(held.items()))
                return
        raise NoEngine

    def make(self, value: Any) -> Any:
        """Make an input."""
        return construct(self.cls, value)

    def sweep(self, mode: str, node: Any) -> Any:
        """Seed the output; derivatives are computed when they are read."""
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
        """Forget the derivatives, as users of such engines do before the next sweep."""
        for node in [*self.asked, *nodes]:
            if not is_number(node):
                setattr(node, self.seed, self.unseeded)
        self.asked.clear()


class CarriedEngine(LearnerEngine):
    """Forward mode for all inputs at once: `y.der` is a dict by the names (or ids) of inputs."""

    shape = "node"
    modes = ("reverse",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        for self.cls in classes(namespace, names.get("node")):
            if constructs(self.cls, 0.75):
                x, z = self.make(0.75), self.make(0.5)
                with suppress(Exception):
                    held = read_attributes(self.apply("mul", [x, z])).items()
                    dicts = [name for name, found in held if isinstance(found, dict)]
                    self.carried = next(n for n in dicts if are_carried(x, z, n))
                    return
        raise NoEngine

    def make(self, value: Any) -> Any:
        """Make an input."""
        return construct(self.cls, value)

    def sweep(self, mode: str, node: Any) -> Any:
        """Return what a node carries, by input."""
        carried = getattr(node, self.carried)
        keys = {id(node): next(iter(getattr(node, self.carried))) for node in self.inputs}
        return OfInputs({place: carried.get(key, 0.0) for place, key in keys.items()})


def are_carried(x: Any, z: Any, name: str) -> bool:
    """Tell whether each of two inputs has a dict that says 1 for itself alone."""
    of_x, of_z = getattr(x, name), getattr(z, name)
    return [*of_x.values()] == [1] == [*of_z.values()] and of_x.keys() != of_z.keys()


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
        self.maker: Callable[[Any], Any] = partial(construct, self.cls)
        others = (f for name, f in self.functions.items() if name in INPUT_NAMES)
        if not self.adds(self.maker):  # inputs are made otherwise: `variable(2)`
            self.maker = next(filter(self.adds, others), self.maker)

    def adds(self, maker: Callable[[Any], Any]) -> bool:
        """Tell whether the inputs that this function or class makes can be added."""
        try:
            return self.apply("add", [maker(0.75), maker(0.5)]) is not NotImplemented
        except Exception:
            return False

    def make(self, value: Any) -> Any:
        """Make an input."""
        return self.maker(value)

    def reads_derivatives(self) -> bool:
        """Tell whether the derivatives that a sweep has found can be read."""
        return can_read(self)

    def sweep(self, mode: str, node: Any) -> Any:
        """Sweep from a node."""
        return call_sweep(self.sweeps[mode], node, self.inputs)


def can_read(engine: LearnerEngine) -> bool:
    """Tell whether the derivative of x + x can be read from a node or the result of a sweep."""
    x = engine.make(0.75)
    if engine.derivative_name or held_derivatives(x):
        return True
    try:
        engine.inputs, y = [x], engine.apply("add", [x, x])
        for mode in engine.modes:
            engine.read_all(engine.sweep(mode, y if mode == "reverse" else x), {"x": x, "y": y})
    except UnreadableResult:
        return False
    except Exception:
        return True  # nothing speaks against it
    return True


SEED_NAMES = ("seed", "grad", "upstream", "adjoint", "value", "g", "dy", "dout", "bar", "v", "dz")


def call_sweep(
    function: Callable[..., Any],
    node: Any,
    inputs: Sequence[Any],
    as_given: Callable[[Any], Any] = lambda node: node,
) -> Any:
    """Sweep by a function of a node alone, or of it and a seed, one input or all inputs.

    A function without parameters sweeps from the last node.
    """
    if not inspect.signature(function).parameters:
        return function()
    root, given = as_given(node), [*map(as_given, inputs)]
    if required(function) < 2:
        return function(root)
    second = parameters(function)[1]
    if second.kind is second.VAR_POSITIONAL:
        found = function(root, *given)
        return by_input([found] if is_number(found) else found, inputs)
    if second.name.split("_")[0] in SEED_NAMES or second.name.startswith(SEED_NAMES[:5]):
        return function(root, 1.0)
    if second.name.endswith("s") or len(inputs) < 1:
        return by_input(function(root, given), inputs)
    try:
        return by_input([function(root, one) for one in given], inputs)
    except TypeError:  # `wrt` may be one or all of them
        return by_input(function(root, given), inputs)


def by_input(result: Any, inputs: Sequence[Any]) -> Any:
    """Return a list of derivatives, one for each input, as a mapping."""
    if is_listed(result) and len(result) == len(inputs):
        return OfInputs({id(node): found for node, found in zip(inputs, result, strict=True)})
    return result
