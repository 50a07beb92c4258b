"""Broken engines: the rungs of the ladder with one fault each, to find and to mend.

A fault is a change of the rung's text, so what a learner reads is what runs. `hint` is the name of
the misconception, as the grader says it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.rungs import rung

Changes = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Bug:
    """One fault of one rung: the texts that are replaced, and the misconception behind it."""

    name: str
    rung: int
    hint: str
    changes: Changes


SWEEP_BACK = """        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
"""
SWEEP_FORWARD = """        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            if parent in dot:
                dot[node] += dnode_dparent * dot[parent]
"""
BACK_ORDER = "    for node in reversed(execution_order(output)):\n"
SEED = "    bar: dict[Node, float] = {output: 1}\n"
PUSH = "                visited.add(other)\n"
EQUAL = """    def __repr__(self) -> str:
        return f"Node({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)
"""
REPR = """    def __repr__(self) -> str:
        return f"Node({self.value!r})"
"""
RECURSIVE = '''def depth_first(start: Node, neighbours: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """List what can be reached along the links, each node after all of its neighbours."""
    ordering: list[Node] = []
    visited: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in visited:
            visited.add(node)
            for other in neighbours(node):
                visit(other)
            ordering.append(node)

    visit(start)
    return ordering


def unused_search(start: Node, neighbours: Callable[[Node], Iterable[Node]]) -> list[Node]:
'''
DEFINED = (
    "def depth_first(start: Node, neighbours: Callable[[Node], Iterable[Node]]) -> list[Node]:\n"
)
NO_VISITED = RECURSIVE.replace("        if node not in visited:\n            visited.add(node)\n            for", "        if True:\n            for")  # fmt: skip
ORDER_UP = "    return depth_first(output, lambda node: node.parent_nodes)\n"
PREORDER = """    ordering: dict[Node, None] = {}
    stack = [output]
    while stack:
        node = stack.pop()
        if node not in ordering:
            ordering[node] = None
            stack.extend(reversed(node.parent_nodes))
    return list(ordering)[::-1]
"""
BREADTH = """    ordering, visited = [output], {output}
    for node in ordering:
        for parent in node.parent_nodes:
            if parent not in visited:
                visited.add(parent)
                ordering.append(parent)
    return ordering[::-1]
"""
RECURSE = """    bar: dict[Node, float] = {output: 1}

    def visit(node: Node) -> None:
        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
        for parent in node.parent_nodes:
            visit(parent)

    visit(output)
    return bar
"""
WAITING = """    bar: dict[Node, float] = {output: 1}
    waiting: dict[Node, int] = {}
    ready = [output]
    while ready:
        node = ready.pop()
        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
            waiting[parent] = waiting.get(parent, len(parent._children)) - 1
            if waiting[parent] == 0:
                ready.append(parent)
    return bar
"""
REVERSE_BODY = SEED + BACK_ORDER + SWEEP_BACK + "    return bar\n"
WEAK = "            parent._children.append(ref(self))\n"
STRONG = "            parent._children.append(lambda self=self: self)  # type: ignore[arg-type]\n"

BUGS = {
    bug.name: bug
    for bug in (
        # forward mode, on the paper's program without its defects
        Bug("tangent_overwritten", 1, "overwritten", ((SWEEP_FORWARD, SWEEP_FORWARD.replace("+=", "=")),)),
        Bug("tangent_first_place", 1, "first_place", ((SWEEP_FORWARD, """        for parent in node.parent_nodes:
            if parent in dot:
                place = node.parent_nodes.index(parent)
                dot[node] += node.grad_wrt_parents[place] * dot[parent]
"""),)),
        Bug("tangent_of_a_set", 1, "parents_as_set", ((SWEEP_FORWARD, """        partials = dict(zip(node.parent_nodes, node.grad_wrt_parents, strict=True))
        for parent, dnode_dparent in partials.items():
            if parent in dot:
                dot[node] += dnode_dparent * dot[parent]
"""),)),
        Bug("tangents_kept", 1, "stale_unreached", (
            ("def forward(root: Node) -> dict[Node, float]:\n", "kept: dict[Node, float] = {}\n\n\ndef forward(root: Node) -> dict[Node, float]:\n"),
            ("    dot: dict[Node, float] = {root: 1}\n", "    dot = kept\n    dot[root] = 1\n"),
        )),
        Bug("order_not_reversed", 1, "unreversed", (
            ("    return ordering[::-1]\n", "    return ordering\n"),
            ("topological_order(root)[1:]", "topological_order(root)[:-1]"),
        )),
        Bug("sign_of_sub", 1, "subtraction_sign", (('"sub", (1, -1)', '"sub", (1, 1)'),)),
        Bug("sine_of_sine", 1, "sine_is_sine", (("(math.cos(node.value),)", "(math.sin(node.value),)"),)),
        Bug("log_of_value", 1, "logarithm_of_value", (("(1 / node.value,)", "(1 / math.log(node.value),)"),)),
        Bug("leaking", 1, "leak", ((WEAK, STRONG),)),
        # operators and constants
        Bug("shifted", 2, "constants_shift", (
            ("tuple(partial for _, partial in parents)", "tuple(partial for _, partial in edges)"),
            ("node.grad_wrt_parents, strict=True", "node.grad_wrt_parents, strict=False"),
        )),
        Bug("rsub", 2, "reflected_sub", (("return sub(other, self)", "return sub(self, other)"),)),
        Bug("rdiv", 2, "reflected_div", (("return div(other, self)", "return div(self, other)"),)),
        Bug("no_rmul", 2, "missing_reflected", (("__mul__ = __rmul__ = mul", "__mul__ = mul"),)),
        Bug("sign_of_div", 2, "division_sign", (("-a / b**2", "a / b**2"),)),
        Bug("square_of_div", 2, "division_square", (("-a / b**2", "-a / b"),)),
        Bug("exponent", 2, "power_exponent", (("n * a ** (n - 1) if n", "n * a**n if n"),)),
        Bug("exp_of_input", 2, "exponential_of_input", (('"exp", (x, v)', '"exp", (x, value_of(x))'),)),
        Bug("sign_of_cos", 2, "cosine_sign", (("-math.sin(value_of(x))", "math.sin(value_of(x))"),)),
        Bug("sign_of_neg", 2, "negation_sign", (('"neg", (x, -1)', '"neg", (x, 1)'),)),
        Bug("whole_division", 2, "floor_division", (("make_node(a / b,", "make_node(a // b,"),)),
        Bug("in_place", 2, "in_place_add", (("    __mul__ = __rmul__", "    def __iadd__(self, other: Operand) -> Node:\n        self.value += value_of(other)\n        return self\n\n    __mul__ = __rmul__"),)),
        Bug("equal", 2, "equal_values", ((REPR, EQUAL),)),
        # reverse mode
        Bug("overwritten", 3, "overwritten", ((SWEEP_BACK, SWEEP_BACK.replace("bar.get(parent, 0) + ", "")),)),
        Bug("first_place", 3, "first_place", ((SWEEP_BACK, """        for parent in node.parent_nodes:
            dnode_dparent = node.grad_wrt_parents[node.parent_nodes.index(parent)]
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
"""),)),
        Bug("parents_as_set", 3, "parents_as_set", ((SWEEP_BACK, SWEEP_BACK.replace("in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):", "in dict(\n            zip(node.parent_nodes, node.grad_wrt_parents, strict=True)\n        ).items():")),)),
        Bug("not_reversed", 3, "unreversed", ((BACK_ORDER, "    for node in execution_order(output):\n        bar.setdefault(node, 0)\n"),)),
        Bug("preorder", 3, "preorder", ((ORDER_UP, PREORDER),)),
        Bug("breadth_first", 3, "breadth_first", ((ORDER_UP, BREADTH),)),
        Bug("recursion", 3, "recursion", ((REVERSE_BODY, RECURSE),)),
        Bug("waiting", 3, "dead_children", ((REVERSE_BODY, WAITING),)),
        Bug("forgetful", 3, "no_visited", ((DEFINED, NO_VISITED),)),
        Bug("deep", 3, "depth", ((DEFINED, RECURSIVE),)),
        Bug("mutable_default", 3, "stale_sum", (
            ("def reverse(output: Node) -> dict[Node, float]:", "def reverse(output: Node, bar: dict[Node, float] = {}) -> dict[Node, float]:"),
            (SEED, "    bar[output] = 1\n"),
        )),
        Bug("seed", 3, "seed_is_value", ((SEED, "    bar: dict[Node, float] = {output: output.value}\n"),)),
        Bug("swapped", 3, "product_swapped", (('"mul", (x, b), (y, a)', '"mul", (x, a), (y, b)'),)),
        Bug("no_factor", 3, "power_factor", (("n * a ** (n - 1) if n", "a ** (n - 1) if n"),)),
        # the tape
        Bug("last_node", 4, "from_the_end", (
            (SEED, "    output = output.tape[-1]\n" + SEED),
        )),
        Bug("tape_not_reversed", 4, "unreversed", (("reversed(output.tape[: output.index + 1])", "output.tape[: output.index + 1]"),)),
        Bug("adjoint_overwritten", 4, "overwritten", ((SWEEP_BACK, SWEEP_BACK.replace("bar.get(parent, 0) + ", "")),)),
        # any number, arrays, the table
        Bug("product_rule", 5, "product_swapped", (("lambda v, a, b: (b, a)", "lambda v, a, b: (a, b)"),)),
        Bug("quotient_rule", 5, "division_sign", (("-a / b**2", "a / b**2"),)),
        Bug("difference_rule", 6, "subtraction_sign", (("lambda v, a, b: (1, -1)", "lambda v, a, b: (1, 1)"),)),
        Bug("accumulated", 6, "overwritten", (("derivatives[node] = derivatives[node] + term if node in derivatives else term", "derivatives[node] = term"),)),
        Bug("row_of_cos", 7, "cosine_sign", (("lambda v, a: -sin(a)", "lambda v, a: sin(a)"),)),
        Bug("row_of_exp", 7, "exponential_of_input", (("lambda v, a: v,)", "lambda v, a: a,)"),)),
        Bug("row_of_div", 8, "division_sign", (("lambda v, a, b: -v / b", "lambda v, a, b: v / b"),)),
        Bug("row_of_sub", 8, "subtraction_sign", (("(1, -1)", "(1, 1)"),)),
    )
}  # fmt: skip


def source(*names: str) -> str:
    """Return the text of a broken engine; several faults of one rung can be had at once.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> "node.parent_nodes.index(parent)" in learn.bugs.source("first_place")
    True
    """
    chosen = [_bug(name) for name in names]
    if len({bug.rung for bug in chosen}) != 1:
        raise ArgumentError("the faults of one engine belong to one rung; see learn.bugs.BUGS")
    text = rung(chosen[0].rung).text
    for bug in chosen:
        for old, new in bug.changes:
            if old not in text:
                raise ArgumentError(
                    f"{' and '.join(names)} change the same lines: they exclude one another"
                )
            text = text.replace(old, new)
    return text


def load(*names: str) -> ModuleType:
    """Load a broken engine.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> engine = learn.bugs.load("first_place")
    >>> x = engine.Node(3)
    >>> engine.reverse(x - x)[x]
    2
    """
    module = ModuleType(f"broken_{'_and_'.join(names)}")
    sys.modules[module.__name__] = module  # where dataclasses look for their own names
    exec(compile(source(*names), f"<broken: {', '.join(names)}>", "exec"), vars(module))
    return module


def choose(number: int, seed: int = 0) -> str:
    """Choose a fault of a rung, to be found: return its name.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> learn.bugs.BUGS[learn.bugs.choose(3, seed=1)].rung
    3
    """
    names: Sequence[str] = [bug.name for bug in BUGS.values() if bug.rung == number]
    if not names:
        raise ArgumentError(f"there are broken engines of rungs 1 to 8, not {number!r}")
    return random.Random(seed).choice(names)


def _bug(name: str) -> Bug:
    if name not in BUGS:
        raise ArgumentError(f"there is no broken engine {name!r}; there are {', '.join(BUGS)}")
    return BUGS[name]
