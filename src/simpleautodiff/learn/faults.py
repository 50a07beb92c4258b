"""The faults of broken engines: for each, the lines of the rungs that it changes.

A rung has a fault if its text has the lines of one of the fault's versions: `sub` is written in one
way on rung 1 and in another on rung 5, and its sign can be forgotten on both.
"""

from __future__ import annotations

from dataclasses import dataclass

Changes = tuple[tuple[str, str], ...]  # old text, new text


@dataclass(frozen=True)
class Fault:
    """One fault: its name, the misconception behind it, and the changes of lines that make it."""

    name: str
    hint: str
    versions: tuple[Changes, ...]


def fault(name: str, hint: str, *versions: Changes | tuple[str, str]) -> Fault:
    """Write a row of the table; a version of one change is written as (old, new)."""
    several = (v if isinstance(v[0], tuple) else (v,) for v in versions)
    return Fault(name, hint, tuple(several))


# Lines of the rungs, for those faults that are more than a slip of the pen. -----------------------

FORWARD_0 = """        partial_derivative: float = 0
        for i in range(len(node.parent_nodes)):
            dnode_dparent = node.grad_wrt_parents[i]
            # defect: a parent that the root does not reach has the number of an earlier sweep
            dparent_droot = node.parent_nodes[i].partial_derivative
            partial_derivative += dnode_dparent * dparent_droot
"""
FORWARD_1 = """        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            if parent in dot:
                dot[node] += dnode_dparent * dot[parent]
"""
FORWARD_2 = """        for parent, dnode_dparent in node.edges:
            if parent in dot:
                dot[node] += dnode_dparent * dot[parent]
"""
FORWARD_4 = FORWARD_2.replace("dot[node] +=", "dot[node] = dot.get(node, 0) +")
FORWARD_6 = "        for parent, d in node.edges:\n            if parent in dot:\n"
REVERSE_3 = """        for parent, dnode_dparent in node.edges:
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
"""
REVERSE_6 = "        for parent, d in node.edges:\n            add_to(bar,"
PUSH = "add_to(dot, node, d.push(dot[parent]) if isinstance(d, Linear) else d * dot[parent])"
PULL = "add_to(bar, parent, d.pull(bar[node]) if isinstance(d, Linear) else bar[node] * d)"
PLACES = "zip(node.parent_nodes, node.grad_wrt_parents, strict=True)"
FIRST_PLACES = """(
            (p, node.grad_wrt_parents[node.parent_nodes.index(p)]) for p in node.parent_nodes
        )"""
FIRST_EDGES = "((p, next(d for q, d in node.edges if q is p)) for p, _ in node.edges)"

SEED_1 = "    dot: dict[Node, float] = {root: 1}\n"
SEED_5 = "    dot: dict[Node, Any] = {root: 1}\n"
SEED_3 = "    bar: dict[Node, float] = {output: 1}\n"
SEED_BACK_5 = "    bar: dict[Node, Any] = {output: 1}\n"
SEED_6 = """    dot: dict[Node, Any] = {}
    add_to(dot, root, 1)  # of an array: in each of its elements
"""
SEED_BACK_6 = "    bar: dict[Node, Any] = {}\n    add_to(bar, output, 1)\n"
BACK = "reversed(execution_order(output)):  # children first: its sum is whole\n"
BACK_ORDER = f"    for node in {BACK}"
TAPE_BACK = "reversed(output.tape[: output.index + 1])"

REPR = """    def __repr__(self) -> str:
        return f"Node({self.value!r})"
"""
REPR_8 = REPR.replace("Node({self.value!r})", "v{self.index}")
EQUAL = """
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)
"""
IN_PLACE = """    def __iadd__(self, other: Any) -> Any:
        self.value += other.value if isinstance(other, Node) else other
        return self

"""

SEARCH_0 = """        if node not in visited:
            visited.add(node)
            for child in node.child_nodes:
                add_children(child)  # defect: a chain of 1,000 operations is too deep
            ordering.append(node)
"""
SEARCH_1 = """    ordering: list[Node] = []
    visited = {root}
    stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(root.child_nodes))]
    while stack:  # the paper's search, with a stack of its own instead of Python's
        node, children = stack[-1]
        for child in children:
            if child not in visited:
                visited.add(child)
                stack.append((child, iter(child.child_nodes)))
                break
        else:
            ordering.append(node)
            stack.pop()
    return ordering[::-1]
"""
RECURSIVE_1 = """    ordering: list[Node] = []
    visited: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in visited:
            visited.add(node)
            for child in node.child_nodes:
                visit(child)
            ordering.append(node)

    visit(root)
    return ordering[::-1]
"""
PREORDER_1 = """    ordering: dict[Node, None] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in ordering:
            ordering[node] = None
            stack.extend(reversed(node.child_nodes))
    return list(ordering)
"""
BREADTH_1 = """    ordering, visited = [root], {root}
    for node in ordering:
        for child in node.child_nodes:
            if child not in visited:
                visited.add(child)
                ordering.append(child)
    return ordering
"""
SEARCH_3 = """    ordering: list[Node] = []
    visited = {start}
    stack: list[tuple[Node, Iterator[Node]]] = [(start, iter(neighbours(start)))]
    while stack:  # the paper's search, with a stack of its own instead of Python's
        node, others = stack[-1]
        for other in others:
            if other not in visited:
                visited.add(other)
                stack.append((other, iter(neighbours(other))))
                break
        else:
            ordering.append(node)
            stack.pop()
    return ordering
"""
RECURSIVE_3 = """    ordering: list[Node] = []
    visited: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in visited:
            visited.add(node)
            for other in neighbours(node):
                visit(other)
            ordering.append(node)

    visit(start)
    return ordering
"""
ORDER_UP = "    return depth_first(output, lambda node: [parent for parent, _ in node.edges])\n"
PREORDER_UP = """    ordering: dict[Node, None] = {}
    stack = [output]
    while stack:
        node = stack.pop()
        if node not in ordering:
            ordering[node] = None
            stack.extend(parent for parent, _ in reversed(node.edges))
    return list(ordering)[::-1]
"""
BREADTH_UP = """    ordering, visited = [output], {output}
    for node in ordering:
        for parent, _ in node.edges:
            if parent not in visited:
                visited.add(parent)
                ordering.append(parent)
    return ordering[::-1]
"""
RECURSE = """    bar: dict[Node, float] = {output: 1}

    def visit(node: Node) -> None:
        for parent, dnode_dparent in node.edges:
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
        for parent, _ in node.edges:
            visit(parent)

    visit(output)
    return bar
"""
WAITING = """    bar: dict[Node, float] = {output: 1}
    waiting: dict[Node, int] = {}
    ready = [output]
    while ready:
        node = ready.pop()
        for parent, dnode_dparent in node.edges:
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
            waiting[parent] = waiting.get(parent, len(parent._children)) - 1
            if waiting[parent] == 0:
                ready.append(parent)
    return bar
"""
REVERSE_BODY_3 = SEED_3 + BACK_ORDER + REVERSE_3 + "    return bar\n"
NOT_VISITED = "        if node not in visited:\n            visited.add(node)\n            for"
AGAIN = "        if True:\n            for"
WEAK = "            parent._children.append(ref(self))\n"
DEF_FORWARD = "def forward(root: Node) -> dict[Node, float]:\n"
DEF_REVERSE = "def reverse(output: Node) -> dict[Node, float]:\n"
DEF_FORWARD_5 = "def forward(root: Node) -> dict[Node, Any]:\n"
DEF_REVERSE_5 = "def reverse(output: Node) -> dict[Node, Any]:\n"

FAULTS_OF_RUNGS = (
    # rules, which every rung has
    fault("sign_of_sub", "subtraction_sign",
        ("[1.0, -1.0]", "[1.0, 1.0]"),
        ('"sub", (1, -1)', '"sub", (1, 1)'),
        ('"sub", (x, 1), (y, -1)', '"sub", (x, 1), (y, 1)'),
        ("lambda v, a, b: (1, -1)", "lambda v, a, b: (1, 1)"),
        ("a - b, (1, -1)", "a - b, (1, 1)")),
    fault("swapped", "product_swapped",
        ("[node2.value, node1.value]", "[node1.value, node2.value]"),
        ("(node2.value, node1.value)", "(node1.value, node2.value)"),
        ('"mul", (x, b), (y, a)', '"mul", (x, a), (y, b)'),
        ("lambda v, a, b: (b, a)", "lambda v, a, b: (a, b)"),
        ("(lambda v, a, b: b, lambda v, a, b: a)", "(lambda v, a, b: a, lambda v, a, b: b)")),
    fault("sine_of_sine", "sine_is_sine",
        ("[math.cos(node.value)]", "[math.sin(node.value)]"),
        ("(math.cos(node.value),)", "(math.sin(node.value),)"),
        ("(x, math.cos(value_of(x)))", "(x, math.sin(value_of(x)))"),
        ("lambda v, a: (cos(a),)", "lambda v, a: (sin(a),)"),
        ("(lambda v, a: cos(a),)", "(lambda v, a: sin(a),)")),
    fault("sign_of_sine", "sine_sign",
        ("[math.cos(node.value)]", "[-math.cos(node.value)]"),
        ("(math.cos(node.value),)", "(-math.cos(node.value),)"),
        ("(x, math.cos(value_of(x)))", "(x, -math.cos(value_of(x)))"),
        ("lambda v, a: (cos(a),)", "lambda v, a: (-cos(a),)"),
        ("(lambda v, a: cos(a),)", "(lambda v, a: -cos(a),)")),
    fault("log_of_value", "logarithm_of_value",
        ("[1 / node.value]", "[1 / value]"),
        ("(1 / node.value,)", "(1 / math.log(node.value),)"),
        ('"log", (x, 1 / a)', '"log", (x, 1 / math.log(a))'),
        ("lambda v, a: (1 / a,)", "lambda v, a: (1 / v,)"),
        ("(lambda v, a: 1 / a,)", "(lambda v, a: 1 / v,)")),
    fault("log_to_ten", "logarithm_base",
        ("[1 / node.value]", "[1 / (node.value * math.log(10))]"),
        ("(1 / node.value,)", "(1 / (node.value * math.log(10)),)"),
        ('"log", (x, 1 / a)', '"log", (x, 1 / (a * math.log(10)))'),
        ("lambda v, a: (1 / a,)", "lambda v, a: (1 / (a * math.log(10)),)"),
        ("(lambda v, a: 1 / a,)", "(lambda v, a: 1 / (a * math.log(10)),)")),
    fault("sub_turned", "subtraction_turned",
        ("[1.0, -1.0]", "[-1.0, 1.0]"),
        ('"sub", (1, -1)', '"sub", (-1, 1)'),
        ('"sub", (x, 1), (y, -1)', '"sub", (x, -1), (y, 1)'),
        ("lambda v, a, b: (1, -1)", "lambda v, a, b: (-1, 1)"),
        ("a - b, (1, -1)", "a - b, (-1, 1)")),
    fault("mul_one_term", "product_of_one_term",
        ("[node2.value, node1.value]", "[node2.value, 0.0]"),
        ("(node2.value, node1.value)", "(node2.value, 0)"),
        ('"mul", (x, b), (y, a)', '"mul", (x, b), (y, 0)'),
        ("lambda v, a, b: (b, a)", "lambda v, a, b: (b, 0)"),
        ("(lambda v, a, b: b, lambda v, a, b: a)", "(lambda v, a, b: b, 0)")),
    fault("mul_as_add", "product_as_sum",
        ("[node2.value, node1.value]", "[1.0, 1.0]"),
        ("(node2.value, node1.value)", "(1, 1)"),
        ('"mul", (x, b), (y, a)', '"mul", (x, 1), (y, 1)'),
        ("lambda v, a, b: (b, a)", "lambda v, a, b: (1, 1)"),
        ("(lambda v, a, b: b, lambda v, a, b: a)", "(1, 1)")),
    # rules, operators and constants, from rung 2 on
    fault("sign_of_div", "division_sign", ("-a / b**2", "a / b**2"), ("lambda v, a, b: -v / b", "lambda v, a, b: v / b")),
    fault("square_of_div", "division_square", ("-a / b**2", "-a / b"), ("lambda v, a, b: -v / b", "lambda v, a, b: -v")),
    fault("exponent", "power_exponent", ("n * a ** (n - 1) if", "n * a**n if")),
    fault("no_factor", "power_factor", ("n * a ** (n - 1) if", "a ** (n - 1) if")),
    fault("exp_of_input", "exponential_of_input",
        ('"exp", (x, v)', '"exp", (x, value_of(x))'),
        ("lambda v, a: (v,)", "lambda v, a: (a,)"),
        ("(lambda v, a: v,)", "(lambda v, a: a,)")),
    fault("exp_as_power", "exponential_as_power",
        ('"exp", (x, v)', '"exp", (x, value_of(x) * math.exp(value_of(x) - 1))'),
        ("lambda v, a: (v,)", "lambda v, a: (a * exp(a - 1),)"),
        ("(lambda v, a: v,)", "(lambda v, a: a * exp(a - 1),)")),
    fault("sign_of_cos", "cosine_sign",
        ("-math.sin(value_of(x))", "math.sin(value_of(x))"),
        ("lambda v, a: (-sin(a),)", "lambda v, a: (sin(a),)"),
        ("(lambda v, a: -sin(a),)", "(lambda v, a: sin(a),)")),
    fault("sign_of_neg", "negation_sign",
        ('"neg", (x, -1)', '"neg", (x, 1)'),
        ("lambda v, a: (-1,)", "lambda v, a: (1,)"),
        ("lambda a: -a, (-1,)", "lambda a: -a, (1,)")),
    fault("whole_division", "floor_division",
        ('(a / b, "div"', '(a // b, "div"'), ("lambda a, b: a / b", "lambda a, b: a // b")),
    fault("rsub", "reflected_sub", ("return sub(other, self)", "return sub(self, other)")),
    fault("rdiv", "reflected_div", ("return div(other, self)", "return div(self, other)")),
    fault("no_rmul", "missing_reflected",
        ("__mul__ = __rmul__ = mul", "__mul__ = mul"),
        ('    setattr(Node, f"__r{name}__"', '    if name != "mul":\n        setattr(Node, f"__r{name}__"')),
    fault("in_place", "in_place_add",
        ("    __mul__ = __rmul__", IN_PLACE + "    __mul__ = __rmul__"),
        ("    __pow__, __neg__", IN_PLACE + "    __pow__, __neg__"),
        ("    def __neg__", IN_PLACE + "    def __neg__")),
    fault("shifted", "constants_shift",
        ("[(arg, d) for arg, d in edges if isinstance(arg, Node)]", "list(zip((arg for arg, _ in edges if isinstance(arg, Node)), (d for _, d in edges)))"),
        (("zip(args, partials(value, *values), own, strict=True)", "zip((arg for arg, mine in zip(args, own) if mine), partials(value, *values))"),
         ("[(arg, d) for arg, d, mine in edges if mine]", "list(edges)")),
        ("((arg, d) for arg, d, mine in zip(args, self.partials, own, strict=True) if mine)", "zip((arg for arg, mine in zip(args, own) if mine), self.partials)")),
    # nodes
    fault("equal", "equal_values", (REPR, REPR + EQUAL), (REPR_8, REPR_8 + EQUAL)),
    fault("leaking", "leak", (WEAK, "            parent._children.append(lambda self=self: self)  # type: ignore[arg-type]\n")),
    # forward sweeps
    fault("tangent_overwritten", "overwritten",
        ("partial_derivative += dnode", "partial_derivative = dnode"),
        (FORWARD_1, FORWARD_1.replace("+=", "=")),
        (FORWARD_2, FORWARD_2.replace("+=", "=")),
        (FORWARD_4, FORWARD_4.replace("dot.get(node, 0) + ", "")),
        (PUSH, PUSH.replace("add_to(dot, node, ", "dot[node] = ("))),
    fault("tangent_first_place", "first_place",
        (FORWARD_0, FORWARD_0.replace("node.grad_wrt_parents[i]", "node.grad_wrt_parents[node.parent_nodes.index(node.parent_nodes[i])]")),
        (FORWARD_1, FORWARD_1.replace(PLACES, FIRST_PLACES)),
        (FORWARD_2, FORWARD_2.replace("node.edges", FIRST_EDGES)),
        (FORWARD_4, FORWARD_4.replace("node.edges", FIRST_EDGES)),
        (FORWARD_6, FORWARD_6.replace("node.edges", FIRST_EDGES))),
    fault("tangent_of_a_set", "parents_as_set",
        (FORWARD_0, FORWARD_0.replace("in range(len(node.parent_nodes))", "in {parent: i for i, parent in enumerate(node.parent_nodes)}.values()")),
        (FORWARD_1, FORWARD_1.replace(PLACES, f"dict({PLACES}).items()")),
        (FORWARD_2, FORWARD_2.replace("node.edges", "dict(node.edges).items()")),
        (FORWARD_4, FORWARD_4.replace("node.edges", "dict(node.edges).items()")),
        (FORWARD_6, FORWARD_6.replace("node.edges", "dict(node.edges).items()"))),
    fault("tangent_forgotten", "no_adjoint",
        ("partial_derivative += dnode_dparent * dparent_droot", "partial_derivative += dnode_dparent"),
        (FORWARD_1, FORWARD_1.replace(" * dot[parent]", "")),
        (FORWARD_2, FORWARD_2.replace(" * dot[parent]", "")),
        (FORWARD_4, FORWARD_4.replace(" * dot[parent]", "")),
        ("else d * dot[parent]", "else d")),
    fault("tangent_seed", "seed_is_value",
        ("    root.partial_derivative = 1\n", "    root.partial_derivative = root.value\n"),
        (SEED_1, SEED_1.replace("1}", "root.value}")),
        (SEED_5, SEED_5.replace("1}", "root.value}")),
        (SEED_6, SEED_6.replace("1)", "root.value)"))),
    fault("no_tangent_seed", "no_seed",
        ("    root.partial_derivative = 1\n", ""),
        (SEED_1, SEED_1.replace("1}", "0}")),
        (SEED_5, SEED_5.replace("1}", "0}")),
        (SEED_6, SEED_6.replace("1)", "0)"))),
    fault("tangents_kept", "stale_unreached",
        ((DEF_FORWARD, "kept: dict[Node, float] = {}\n\n\n" + DEF_FORWARD), (SEED_1 + "    for node in topological", "    dot = kept\n    dot[root] = 1\n    for node in topological"))),
    fault("tangents_summed", "stale_sum",
        ("        partial_derivative: float = 0\n", "        partial_derivative = node.partial_derivative\n"),
        ((DEF_FORWARD, "kept: dict[Node, float] = {}\n\n\n" + DEF_FORWARD), (SEED_1, "    dot = kept\n    dot[root] = 1\n"), ("        dot[node] = 0\n", "        dot.setdefault(node, 0)\n")),
        ((DEF_FORWARD, "kept: dict[Node, float] = {}\n\n\n" + DEF_FORWARD), (SEED_1, "    dot = kept\n    dot[root] = 1\n")),
        ((DEF_FORWARD_5, "kept: dict[Node, Any] = {}\n\n\n" + DEF_FORWARD_5), (SEED_5, "    dot = kept\n    dot[root] = 1\n")),
        ((DEF_FORWARD_5, "kept: dict[Node, Any] = {}\n\n\n" + DEF_FORWARD_5), (SEED_6, "    dot = kept\n    dot[root] = 1\n"))),
    fault("order_not_reversed", "unreversed",
        (("    return ordering[::-1]\n", "    return ordering\n"), ("topological_order(root)[1:]", "topological_order(root)[:-1]"))),
    fault("order_preorder", "preorder",
        ((SEARCH_0, SEARCH_0.replace("            ordering.append(node)\n", "").replace("            visited.add(node)\n", "            visited.add(node)\n            ordering.append(node)\n")), ("    return ordering[::-1]\n", "    return ordering\n")),
        (SEARCH_1, PREORDER_1)),
    fault("order_breadth", "breadth_first",
        ("    add_children(root)\n    return ordering[::-1]\n", BREADTH_1),
        (SEARCH_1, BREADTH_1)),
    fault("order_forgetful", "exponential",
        (SEARCH_0, SEARCH_0.replace(NOT_VISITED, AGAIN)),
        (SEARCH_1, SEARCH_1.replace("            if child not in visited:\n", "            if True:\n"))),
    fault("order_deep", "depth", (SEARCH_1, RECURSIVE_1)),
    # reverse sweeps
    fault("overwritten", "overwritten",
        (REVERSE_3, REVERSE_3.replace("bar.get(parent, 0) + ", "")),
        (PULL, PULL.replace("add_to(bar, parent, ", "bar[parent] = ("))),
    fault("first_place", "first_place",
        (REVERSE_3, REVERSE_3.replace("node.edges", FIRST_EDGES)),
        (REVERSE_6, REVERSE_6.replace("node.edges", FIRST_EDGES))),
    fault("parents_as_set", "parents_as_set",
        (REVERSE_3, REVERSE_3.replace("node.edges", "dict(node.edges).items()")),
        (REVERSE_6, REVERSE_6.replace("node.edges", "dict(node.edges).items()"))),
    fault("adjoint_forgotten", "no_adjoint",
        (REVERSE_3, REVERSE_3.replace("bar[node] * ", "")),
        (PULL, PULL.replace("bar[node] * d", "d"))),
    fault("seed", "seed_is_value",
        (SEED_3, SEED_3.replace("1}", "output.value}")),
        (SEED_BACK_5, SEED_BACK_5.replace("1}", "output.value}")),
        (SEED_BACK_6, SEED_BACK_6.replace("1)", "output.value)"))),
    fault("no_adjoint_seed", "no_seed",
        (SEED_3, SEED_3.replace("1}", "0}")),
        (SEED_BACK_5, SEED_BACK_5.replace("1}", "0}")),
        (SEED_BACK_6, SEED_BACK_6.replace("1)", "0)"))),
    fault("mutable_default", "stale_sum",
        ((DEF_REVERSE, DEF_REVERSE.replace("output: Node", "output: Node, bar: dict[Node, float] = {}")), (SEED_3, "    bar[output] = 1\n")),
        ((DEF_REVERSE_5, DEF_REVERSE_5.replace("output: Node", "output: Node, bar: dict[Node, Any] = {}")), (SEED_BACK_5, "    bar[output] = 1\n")),
        ((DEF_REVERSE_5, DEF_REVERSE_5.replace("output: Node", "output: Node, bar: dict[Node, Any] = {}")), (SEED_BACK_6, "    bar[output] = 1\n"))),
    fault("not_reversed", "unreversed",
        (BACK_ORDER, "    for node in execution_order(output):\n        bar.setdefault(node, 0)\n"),
        (TAPE_BACK, "output.tape[: output.index + 1]")),
    fault("last_node", "from_the_end",
        (SEED_3 + "    for node in reversed(output.tape", "    output = output.tape[-1]\n" + SEED_3 + "    for node in reversed(output.tape"),
        (SEED_BACK_5, "    output = output.tape[-1]\n" + SEED_BACK_5),
        (SEED_BACK_6, "    output = output.tape[-1]\n" + SEED_BACK_6)),
    fault("tape_emptied", "used_up", ("    return bar\n\n\ndef grad", "    output.tape.clear()\n    return bar\n\n\ndef grad")),
    fault("preorder", "preorder", (ORDER_UP, PREORDER_UP)),
    fault("breadth_first", "breadth_first", (ORDER_UP, BREADTH_UP)),
    fault("recursion", "recursion", (REVERSE_BODY_3, RECURSE)),
    fault("waiting", "dead_children", (REVERSE_BODY_3, WAITING)),
    fault("forgetful", "no_visited", (SEARCH_3, RECURSIVE_3.replace(NOT_VISITED, AGAIN))),
    fault("deep", "depth", (SEARCH_3, RECURSIVE_3)),
)  # fmt: skip
