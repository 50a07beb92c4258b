"""Engines of functions: `grad(f)`, and dual numbers with what seeds them.

This file runs in the learner's process too: of the library it imports the files of engines alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from simpleautodiff.learn.grading.learner_engine import (
    LearnerEngine,
)
from simpleautodiff.learn.grading.learner_names import (
    GRADIENT_NAMES,
    NoEngine,
    first,
)
from simpleautodiff.learn.grading.learner_nodes import (
    classes,
    constructs,
    is_array,
    is_number,
    read_attributes,
    required,
)


class GradEngine(LearnerEngine):
    """`grad(f)`: a function that makes the function of derivatives."""

    shape = "grad"
    modes = ("reverse",)
    whole_graph = False

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        self.grad = first((names["grad"],) if "grad" in names else GRADIENT_NAMES, self.functions)
        self.grad = self.grad or grad_of_products(self.functions)
        if self.grad is None or required(self.grad) < 1 or makes_no_function(self.grad):
            raise NoEngine
        self.name = getattr(self.grad, "__name__", "grad")
        self.form = ""  # or "list": grad(f)([x, z]), with f([x, z]); or "point": with f(x, z)
        try:
            self.make(0.75)  # refuses what is no engine at all
        except NoEngine:
            raise
        except Exception as error:
            forms = [form for form in ("list", "point") if self.takes(1, form)]
            if not forms:
                said = f"{type(error).__name__}: {error}"
                raise NoEngine(f"{self.name}(f) of a function f raises {said}") from None
            self.form = forms[0]
        others = (form for form in ("list", "point") if self.takes(2, form))
        self.form = self.form if self.takes(2) else next(others, self.form)

    def takes(self, count: int, form: str = "") -> bool:
        """Tell whether functions of that many arguments can be differentiated."""
        before, self.form = self.form, form or self.form
        point = [0.75, 0.5][:count]
        try:
            made = self.make_several(point)
            return len(made) == count and not any(type(n) is list and n == point for n in made)
        except Exception:
            return False
        finally:
            self.form = before

    def abilities(self) -> dict[str, Any]:
        """Find out what the engine can do, and whether with several inputs."""
        return {**super().abilities(), "one_input": not self.takes(2)}

    def try_operation(self, operation: str, args: Sequence[Any]) -> Any:
        """Apply an operation to new inputs, inside a function that is being differentiated."""
        done: list[Any] = []

        def f(*nodes: Any) -> Any:
            made = iter(nodes if len(nodes) == len(point) else nodes * len(point))
            given = [next(made) if isinstance(arg, float) else arg for arg in args]
            done.append(self.apply(operation, given))
            return done[0]

        point = [arg for arg in args if isinstance(arg, float)]
        try:
            self.call(f, point if len(point) == 1 or self.takes(2) else point[:1])
        except Exception:
            if not done:
                raise
        return done[0]

    def make(self, value: Any) -> Any:
        """Return an input as the engine passes it to the function."""
        return self.make_several([value])[0]

    def make_several(self, values: list[Any]) -> list[Any]:
        """Return inputs as the engine passes them to the function."""
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
        """Return the derivatives of f in all arguments, whatever form the engine gives them."""
        if self.form:
            f, point = _of_list(f) if self.form == "list" else f, [list(point)]
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
        if isinstance(found, tuple) and len(found) == 2 and is_several(found[1]):
            found = found[1]  # (value, derivatives)
        if isinstance(found, tuple) and len(found) == 2 and len(point) == 1 and not self.form:
            found = found[1]  # (value, derivative)
        several = is_several(found)
        if len(point) == 1 or several:
            return list(found) if several else [found]
        others = [self.grad(f, k)(*point) for k in range(1, len(point))]  # argnum, as in autograd
        return [found, *others]


def makes_no_function(grad: Any) -> bool:
    """Tell whether `grad` is a class whose objects cannot be called, so that it is no transform."""
    return inspect.isclass(grad) and "__call__" not in dir(grad)


def grad_of_products(functions: dict[str, Any]) -> Callable[..., Any] | None:
    """Make `grad` from `vjp(f, *point)` or `jvp(f, point, tangents)` with the interface of JAX."""
    vjp, jvp = functions.get("vjp"), functions.get("jvp")

    def gradient(f: Callable[..., Any], *point: Any) -> Any:
        if vjp is not None:
            return vjp(f, *point)[1](1.0)
        assert jvp is not None
        units = [tuple(float(j == k) for j in range(len(point))) for k in range(len(point))]
        return [jvp(f, point, unit)[1] for unit in units]

    return (lambda f: partial(gradient, f)) if vjp or jvp else None


class DualEngine(LearnerEngine):
    """Dual numbers: a class made of a value and a derivative."""

    shape = "dual"
    modes = ("forward",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        for self.cls in classes(namespace, names.get("node")):
            takes = may_take_slope(self.cls) and constructs(self.cls, 0.75, 1.0)
            if takes and hasattr(self.cls, "__mul__"):
                probe = self.cls(0.75, 0.125)
                held = read_attributes(probe)
                values = [n for n, v in held.items() if is_number(v) and v == 0.75]
                slopes = [n for n, v in held.items() if is_number(v) and v == 0.125]
                if values and slopes and _adds(probe, values[0], slopes[0]):
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
        if self.driver is None:
            return found
        only_one = not self.driver.takes(2)
        return {**found, "driver": True, "one_input": only_one, "modes": ["forward", "reverse"]}

    def make(self, value: Any, slope: float = 0.0) -> Any:
        """Make an input, with its derivative."""
        return self.cls(value, slope)


def may_take_slope(cls: type) -> bool:
    """Tell whether the second argument of a class may be a number: a derivative, not a tape."""
    try:
        second = [*inspect.signature(cls).parameters.values()][1:2]
    except (TypeError, ValueError):
        return True
    return all(p.default in (p.empty, None) or is_number(p.default) for p in second)


def _adds(probe: Any, value: str, slope: str) -> bool:
    """Tell whether a sum of two numbers has a value and a derivative, too."""
    try:
        total = probe + probe
        return is_number(getattr(total, value, None)) and is_number(getattr(total, slope, None))
    except Exception:
        return False


def _of_list(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return the function of one list that calls a function with its items."""
    return lambda nodes: f(*nodes)


def is_several(found: Any) -> bool:
    """Tell whether a result holds several derivatives: a list, a tuple or an array."""
    return isinstance(found, (list, tuple)) or (is_array(found) and found.ndim == 1)
