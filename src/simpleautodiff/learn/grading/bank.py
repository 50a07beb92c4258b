"""The bank: graphs that reveal errors of engines, each with the misconception it exposes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simpleautodiff.learn.graphs import Graph, parse_graph

Script = tuple[tuple[str, ...], ...]
POINT = {"x": 1.3, "z": 0.7, "w": 2.1}


@dataclass(frozen=True)
class Case:
    """A graph, how it is swept, the task of the course it belongs to, and what it exposes."""

    name: str
    graph: Graph
    task: str
    exposes: str
    way: str = "once"
    wanted: tuple[str, ...] = ()  # the nodes to sweep from, if not the output
    kink: bool = False
    budget: int = 0  # how many operations are allowed, if their number is tested; else 0
    length: int = 0  # of a long chain, whose steps are not listed in `graph`

    def scripts(self, mode: str) -> Iterator[Script]:
        """Yield scripts: what an engine is asked to do with a newly built graph."""
        outputs, inputs = self.wanted or (self.graph.output,), self.graph.names
        build = ("build",)
        if mode == "reverse":
            sweeps = [("reverse", name) for name in outputs]
        elif self.way in ("once", "failed", "rebuilt") and not self.wanted:
            for name in inputs:
                yield self._around([("forward", name)])
            return
        else:
            roots = self.wanted if self.way == "interior" else inputs
            sweeps = [("forward", name) for name in roots]
        if self.way == "again":
            sweeps = [*sweeps, *sweeps[:1]]
            yield (build, *sweeps)
        elif self.way == "interior" and len(outputs) > 1:
            yield (build, *sweeps)
        else:
            yield self._around(sweeps)

    def _around(self, sweeps: list[tuple[str, str]]) -> Script:
        if self.way == "failed":
            return (("fail", self.graph.names[0]), ("build",), *sweeps)
        if self.way == "rebuilt":
            return (("build",), *sweeps, ("build",), *sweeps)
        return (("build",), *sweeps)


def _case(task: str, exposes: str, text: str, way: str = "once", **more: Any) -> Case:
    words = set(re.findall(r"\w+", text))
    at = (
        more.pop("at", None) or {name: POINT[name] for name in POINT if name in words} or {"x": 1.3}
    )
    graph = parse_graph(text, **at)
    name = f"{graph}{'' if way == 'once' else f', {way}'}"
    return Case(name, graph, task, exposes, way, **more)


DOUBLING = "; ".join(["a0 = x + x", *(f"a{k} = a{k - 1} + a{k - 1}" for k in range(1, 24))])
PRODUCTS = "; ".join(["a0 = x * x", *(f"a{k} = a{k - 1} + x" for k in range(1, 6))])
LATER = (f"a{k} = a{k - 1} + a{k - 2}" for k in range(3, 26))
FIBONACCI = "; ".join(["a1 = x + z", "a2 = a1 + z", *LATER])

BANK: tuple[Case, ...] = (
    # one operation: its rule
    _case("rules", "wrong_rule", "y = x + z"),
    _case("rules", "subtraction_sign", "y = x - z"),
    _case("rules", "product_swapped", "y = x * z"),
    _case("rules", "division_sign", "y = x / z"),
    _case("rules", "power_exponent", "y = x**3"),
    _case("rules", "power_exponent", "y = x**2"),
    _case("rules", "wrong_rule", "y = x**1"),
    _case("rules", "wrong_rule", "y = x**0"),
    _case("rules", "negation_sign", "y = -x"),
    _case("rules", "sine_is_sine", "y = sin(x)"),
    _case("rules", "cosine_sign", "y = cos(x)"),
    _case("rules", "exponential_of_input", "y = exp(x)"),
    _case("rules", "logarithm_of_value", "y = log(w)"),
    _case("rules", "root_half", "y = sqrt(w)"),
    _case("rules", "tanh_of_input", "y = tanh(x)"),
    _case("rules", "relu_of_value", "y = relu(w)"),
    _case("rules", "relu_always", "y = relu(x)", at={"x": -0.8}),
    _case("rules", "abs_always", "y = abs(x)", at={"x": -0.8}),
    _case("rules", "maximum_both", "y = max(x, z)"),
    # the chain rule
    _case("chain", "no_chain", "y = sin(sin(x))"),
    _case("chain", "no_chain", "y = log(x * x)"),
    _case("chain", "no_chain", "y = sin(x * z) * w"),
    _case("chain", "no_chain", "a = exp(x); y = cos(a)"),
    _case("chain", "no_chain_in_pow", "a = x * z; y = a**3 * x"),
    *(
        _case("chain", f"no_chain_in_{function}", f"a = w * w; y = {function}(a) * w")
        for function in ("sin", "cos", "exp", "log", "sqrt", "tanh", "relu", "abs")
    ),
    _case("chain", "seed_is_value", "y = x * z * w"),
    _case("chain", "product_of_derivatives", "y = (x + z) * (x - z)"),
    # the same parent twice
    _case("twice", "first_place", "y = x - x"),
    _case("twice", "parents_as_set", "y = x * x"),
    _case("twice", "parents_as_set", "y = x + x"),
    _case("twice", "first_place", "y = x / x"),
    _case("twice", "first_place", "a = x * z; y = a - a"),
    _case("twice", "first_place", "a = x * x; y = (a - a) * a"),
    _case("twice", "parents_as_set", "a = x + z; y = a * a"),
    # several ways to a node: contributions are added
    _case("sum", "overwritten", "y = sin(x) + x"),
    _case("sum", "overwritten", "y = x * z + x"),
    _case("sum", "overwritten", "y = x * z + x * w"),
    _case("sum", "overwritten", "a = x * z; y = sin(a) + a"),
    _case("sum", "overwritten", "a = x + z; y = a * x + a * z"),
    *(
        _case(
            "sum", f"overwritten_in_{function}", f"a = {function}(w); b = {function}(w); y = a + b"
        )
        for function in ("sin", "cos", "exp", "log", "sqrt", "tanh", "relu", "abs")
    ),
    _case("sum", "overwritten_in_sub", "a = x - z; y = a * x"),
    _case("sum", "overwritten_in_div", "a = x / z; y = a * x"),
    _case("sum", "overwritten_in_pow", "y = x**2 + x**3"),
    _case("sum", "overwritten_in_neg", "a = -x; b = -x; y = a * b"),
    # orders that look right and are not
    _case("order", "recursion", "a = x + z; b = x * z; y = a + b + a * b"),
    _case("order", "recursion", "a = x + x; y = a + a"),
    _case("order", "preorder", "a = x * z; b = sin(a); y = a + b"),
    _case("order", "preorder", "a = x * z; b = sin(a); y = b + a"),
    _case("order", "preorder", "a = x * z; b = a * x; c = b * a; y = c + a"),
    _case("order", "breadth_first", "a = x * z; b = sin(a); c = cos(b); y = c + a"),
    _case("order", "breadth_first", "a = x * z; b = sin(a); c = b * b; d = c * b; y = a * d"),
    _case("order", "unreversed", "y = (x * z) * (w + x)"),
    _case("order", "recursion", PRODUCTS + "; y = a5 * a3 * a1"),
    _case("order", "preorder", "a = sin(x); b = a * z; c = a + b; d = c * a; y = d - b"),
    # the size of the work
    _case("cost", "exponential", DOUBLING, budget=30_000),
    _case("cost", "exponential", FIBONACCI, budget=30_000),
    Case("a chain of many additions", parse_graph("y = x + x", x=1.3), "depth", "depth", length=1),
    # what the output does not depend on
    _case("dead", "dead_children", "d = x * x; y = sin(x)"),
    _case("dead", "dead_children", "a = x * z; d = sin(a); y = a * x", wanted=("y",)),
    _case("dead", "from_the_end", "y = x * z; d = y * x", "interior", wanted=("y",)),
    _case("dead", "input_unused", "y = sin(x)", at={"x": 1.3, "z": 0.7}),
    # several outputs, several sweeps
    _case("sweeps", "stale_sum", "y = x * z + sin(x)", "again"),
    _case("sweeps", "stale_unreached", "a = x * x; b = z * z; y = a * b + sin(z)", "again"),
    _case("sweeps", "stale_unreached", "y = log(x) + x * z - sin(z)", "again"),
    _case(
        "sweeps", "from_the_end", "a = x * z; b = sin(a); y = a + x", "interior", wanted=("b", "y")
    ),
    _case("sweeps", "stale_sum", "a = x * z; b = a * x; c = a + z", "interior", wanted=("c", "b")),
    _case("sweeps", "stale_unreached", "a = x * z; b = sin(x)", "interior", wanted=("a", "b")),
    _case("sweeps", "interior", "a = x * z; b = a * a; y = b + x", "interior", wanted=("a",)),
    _case("sweeps", "interior", "a = sin(x); b = a * a; y = b * a", "interior", wanted=("b",)),
    _case("sweeps", "stale_sum", "a = x * z; y = a * a", "rebuilt"),
    # outputs at the edge
    _case("edges", "constant_output", "y = 3"),
    _case("edges", "output_is_input", "y = x", at={"x": 1.3, "z": 0.7}),
    _case("edges", "equal_values", "y = x * x * z", at={"x": 1.5, "z": 1.5}),
    _case("edges", "equal_values", "a = x + z; b = x * z; y = a * b * a", at={"x": 2.0, "z": 2.0}),
    _case("edges", "equal_values", "a = x * z; b = sin(a); c = x * z; y = b * c"),
    # names, constants, operators, integers
    _case("names", "in_place_add", "a = x; a += z; y = a * x"),
    _case("names", "in_place_add", "a = x * z; a += x; a += a; y = a * z"),
    _case("names", "name_reused", "a = x * x; a = a * z; a = a * a; y = a - x"),
    _case("operators", "constants_shift", "y = 3 - x"),
    _case("operators", "constants_shift", "y = 2 / x"),
    _case("operators", "reflected", "y = 2 * x"),
    _case("operators", "reflected", "y = 2 + x"),
    _case("operators", "constants_shift", "y = x - 2"),
    _case("operators", "constants_shift", "y = x / 4"),
    _case("operators", "constants_shift", "y = (3 - x * z) * (2 / x)"),
    _case("operators", "floor_division", "y = x / z", at={"x": 3, "z": 2}),
    _case("operators", "integers", "a = x * x; y = a * x + a", at={"x": 3}),
    # an error half way, and what is left of it
    _case("failures", "phantom_child", "y = x * z + x", "failed"),
    _case("failures", "shared_parents", "a = x + z; y = a * w", "rebuilt"),
    # where the derivative is a choice
    _case("kinks", "kink", "y = abs(x)", at={"x": 0.0}, kink=True),
    _case("kinks", "kink", "y = relu(x)", at={"x": 0.0}, kink=True),
    _case("kinks", "kink", "y = max(x, z)", at={"x": 1.0, "z": 1.0}, kink=True),
)
TASKS = tuple(dict.fromkeys(case.task for case in BANK))
