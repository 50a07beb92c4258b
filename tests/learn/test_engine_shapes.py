"""The grader takes engines in the shapes of lectures, books and small copies of libraries."""

import pathlib
import re

import pytest

from simpleautodiff import learn

RESET = """        for gate in self.gates:
            for unit in (*gate.units, gate.utop):
                unit.grad = 0.0
"""
RUN_FIRST = """        top = gate.forward(*units)
        self.gates.append(gate)
        return top
"""
NOTE_FIRST = """        self.gates.append(gate)
        return gate.forward(*units)
"""
ONE_SHOT = [  # generators end after one sweep
    ("while True:", "if True:"),
    ("for running, _, _ in reversed(trail):", "while trail:"),
    ("        next(running)\n", "        next(trail.pop()[0], None)\n"),
]
POST_ORDER = """            for arg in node.args:
                visit(arg)
            order.append(node)
"""
PRE_ORDER = """            order.append(node)
            for arg in node.args:
                visit(arg)
"""
BACK = "in reversed(order):\n                g = grads.pop(t)"
FORTH = "in order:\n                g = grads.pop(t, 0.0)"
ENGINES = pathlib.Path(__file__).parent / "engines"


def grade(path):
    return learn.grade(str(path), depth=1500, programs=10)


@pytest.mark.parametrize(
    ("name", "shape", "limits"),
    [
        ("cached_tensors", "value", ("depth",)),
        ("carried_by_name", "node", ()),
        ("closures", "node", ()),
        ("creator", "value", ()),
        ("dual_tuple", "dual", ()),
        ("executor", "feed", ("depth",)),
        ("gates", "tape", ()),
        ("generators", "node", ("leak",)),
        ("graph_methods", "tape", ()),
        ("hyper_dual", "dual", ()),
        ("local_jacobian", "tape", ()),
        ("named_inputs", "tape", ()),
        ("no_grad", "value", ("depth",)),
        ("op_nodes", "node", ("depth",)),
        ("output_and_inputs", "node", ()),
        ("pending_uses", "node", ()),
        ("plain_tuples", "grad", ()),
        ("pullbacks", "grad", ()),
        ("recorded_steps", "grad", ()),
        ("registered_ops", "value", ("depth",)),
        ("scalar_history", "value", ("depth",)),
        ("shared_arrays", "value", ("depth",)),
        ("static_operations", "value", ("leak",)),
        ("taylor_pair", "grad", ()),
        ("traces", "grad", ()),
        ("wengert_class", "tape", ()),
        ("wengert_tuples", "tape", ()),
    ],
)
def test_right_engines_pass_without_adapters(name, shape, limits):
    report = grade(ENGINES / f"{name}.py")
    assert report.abilities["shape"] == shape
    assert report.mistakes == limits
    assert report.ok


@pytest.mark.parametrize(
    ("engine", "changes", "mistakes"),
    [
        ("asked_expressions", [], {"depth", "exponential"}),
        (
            "asked_expressions",
            [("a.partial * b.value + a.value * b.partial", "a.partial * b.partial")],
            {"depth", "exponential", "product_of_derivatives"},
        ),
        ("asked_of_output", [], {"depth", "exponential"}),
        (
            "asked_of_output",
            [("(-1, other)", "(1, other)")],
            {"depth", "exponential", "subtraction_sign"},
        ),
        (
            "cached_tensors",
            [("-(out_grad * lhs) / (rhs * rhs)", "(out_grad * lhs) / (rhs * rhs)")],
            {"depth", "division_sign"},
        ),
        (
            "carried_by_name",
            [
                (
                    "self._combine(other, other.val, self.val)",
                    "self._combine(other, self.val, other.val)",
                )
            ],
            {"product_swapped"},
        ),
        ("carried_by_name", [("return (-self) + other", "return self - other")], {"reflected_sub"}),
        ("counted_children", [], {"depth", "dead_children"}),
        (
            "counted_children",
            [("(g, -g)", "(g, g)")],
            {"depth", "dead_children", "subtraction_sign"},
        ),
        ("emptied_tape", [], {"leak", "stale_sum"}),
        ("emptied_tape", [("reversed(_TAPE)", "_TAPE")], {"leak", "stale_sum", "unreversed"}),
        ("hyper_dual", [("1.0 if j == i else 0.0", "1.0")], {"all_seeded"}),
        (
            "output_and_inputs",
            [
                ("g.get(p.uid, 0.0) + ", ""),
                ("-g * self.value / o.value**2", "-g * self.value / o.value"),
            ],
            {"overwritten", "division_square"},
        ),
        ("pending_uses", [("adj[p] += ", "adj[p] = ")], {"overwritten"}),
        ("pending_uses", [("adj[y] = 1.0", "adj[y] = y.v")], {"seed_is_value"}),
        ("plain_tuples", [("a[1] - b[1]", "a[1] + b[1]")], {"subtraction_sign"}),
        ("seeded_expressions", [], {"depth", "exponential"}),
        (
            "seeded_expressions",
            [("self.partial += seed", "self.partial = seed")],
            {"depth", "exponential", "overwritten"},
        ),
        (
            "static_operations",
            [("(b.value, a.value)", "(b.value, 0.0)")],
            {"leak", "product_of_one_term"},
        ),
        (
            "symbolic_trees",
            [("Mul(Cos(self.a), self.a.diff(x))", "Cos(self.a)")],
            {"depth", "exponential", "no_chain_in_sin"},
        ),
        ("closure_pairs", [], {"depth", "exponential"}),
        ("closure_pairs", [("(-g)", "(g)")], {"depth", "exponential", "subtraction_sign"}),
        ("dataclass_nodes", [], {"depth", "stale_unreached"}),
        ("naive_recursion", [], {"depth", "exponential"}),
        ("op_classes", [], {"depth", "exponential"}),
        ("closures", [("o.d += -d", "o.d += d")], {"subtraction_sign"}),
        (
            "closures",
            [("key=lambda n: n.order, reverse=True", "key=lambda n: n.order")],
            {"unreversed"},
        ),
        ("closures", [("d * n * self.v ** (n - 1)", "d * self.v ** (n - 1)")], {"power_factor"}),
        ("creator", [("gx if x.grad is None else x.grad + gx", "gx")], {"overwritten"}),
        ("creator", [("(-f.generation, next(count), f)", "(next(count), f)")], {"breadth_first"}),
        (
            "creator",
            [("gy * self.output.data", "gy * self.inputs[0].data")],
            {"exponential_of_input"},
        ),
        (
            "dataclass_nodes",
            [("@dataclass(eq=False)", "@dataclass")],
            {"depth", "equal_values", "stale_unreached"},
        ),
        (
            "dataclass_nodes",
            [("        node.grad = 0.0\n", "        pass\n")],
            {"depth", "stale_sum"},
        ),
        (
            "dataclass_nodes",
            [("math.cos(a.value)", "math.sin(a.value)")],
            {"depth", "sine_is_sine", "stale_unreached"},
        ),
        (
            "dual_tuple",
            [("self.b * o.a - self.a * o.b", "self.b * o.a + self.a * o.b")],
            {"division_sign"},
        ),
        ("dual_tuple", [("math.exp(x.a) * x.b", "math.exp(x.a)")], {"no_chain_in_exp"}),
        (
            "gates",
            [
                ("u0.grad += u1.value", "u0.grad = u1.value"),
                ("u1.grad += u0.value", "u1.grad = u0.value"),
            ],
            {"overwritten_in_mul"},
        ),
        ("gates", [(RESET, "")], {"stale_sum"}),
        ("gates", [(RUN_FIRST, NOTE_FIRST)], {"phantom_child"}),
        ("generators", ONE_SHOT, {"leak", "stale_unreached", "used_up"}),
        (
            "generators",
            [("b.grad -= out.grad", "b.grad += out.grad")],
            {"leak", "subtraction_sign"},
        ),
        (
            "executor",
            [("[output_grad * b, output_grad * a]", "[output_grad * a, output_grad * b]")],
            {"depth", "product_swapped"},
        ),
        (
            "executor",
            [("reduce(add, grads_of[node])", "grads_of[node][-1]")],
            {"depth", "overwritten"},
        ),
        (
            "executor",
            [("return [output_grad * node.const]", "return [output_grad]")],
            {"depth", "wrong_rule"},
        ),
        ("named_symbols", [], {"depth", "exponential"}),
        (
            "named_symbols",
            [("self.left.diff(name) - ", "self.left.diff(name) + ")],
            {"depth", "exponential", "subtraction_sign"},
        ),
        ("generators", [("in reversed(trail)", "in trail")], {"leak", "unreversed"}),
        ("graph_methods", [("reversed(self.nodes)", "self.nodes")], {"unreversed"}),
        ("graph_methods", [("y.grad = 1.0", "self.nodes[-1].grad = 1.0")], {"from_the_end"}),
        (
            "graph_methods",
            [("            node.grad = 0.0\n        y", "            pass\n        y")],
            {"stale_sum"},
        ),
        ("dict_nodes", [], {"depth", "stale_unreached"}),
        (
            "dict_nodes",
            [('(a, b["value"]), (b, a["value"])', '(a, a["value"]), (b, b["value"])')],
            {"depth", "product_swapped", "stale_unreached"},
        ),
        ("local_jacobian", [("row.get(r.k, 0.0) + d", "d")], {"parents_as_set"}),
        ("named_inputs", [("bar[a] += ", "bar[a] = ")], {"overwritten"}),
        (
            "naive_recursion",
            [("self.grad += g", "self.grad = g")],
            {"depth", "exponential", "overwritten"},
        ),
        ("no_grad", [("grads.get(parent, 0.0) + d * g", "d * g")], {"depth", "overwritten"}),
        ("no_grad", [("math.tanh(a) ** 2", "math.tanh(a)")], {"depth", "tanh_square"}),
        ("no_grad", [(BACK, FORTH)], {"depth", "unreversed"}),
        (
            "op_classes",
            [
                (
                    "self.left.backpropagate(seed * self.right.value)",
                    "self.left.backpropagate(seed * self.left.value)",
                ),
                (
                    "self.right.backpropagate(seed * self.left.value)",
                    "self.right.backpropagate(seed * self.right.value)",
                ),
            ],
            {"depth", "exponential", "product_swapped"},
        ),
        (
            "op_classes",
            [("seed / self.arg.value", "seed / self.value")],
            {"depth", "exponential", "logarithm_of_value"},
        ),
        ("op_nodes", [("g, -g", "g, g")], {"depth", "subtraction_sign"}),
        ("op_nodes", [("grads[arg] += g", "grads[arg] = g")], {"depth", "overwritten"}),
        (
            "op_nodes",
            [(POST_ORDER, PRE_ORDER), ("reversed(order)", "order")],
            {"depth", "preorder"},
        ),
        ("pullbacks", [("a.g += g", "a.g = g")], {"overwritten"}),
        ("recorded_steps", [("a.adj += g", "a.adj = g")], {"overwritten"}),
        (
            "registered_ops",
            [("g if parent.grad is None else parent.grad + g", "g")],
            {"depth", "overwritten"},
        ),
        ("registered_ops", [("g[x < 0] = 0", "pass")], {"depth", "relu_always"}),
        ("scalar_history", [("-d_output / a**2", "-d_output / a")], {"depth", "division_square"}),
        ("scalar_history", [("derivs.get(i.unique_id, 0.0) + g", "g")], {"depth", "overwritten"}),
        ("scalar_history", [("if v.unique_id in visited", "if False")], {"no_visited"}),
        (
            "scalar_history",
            [("(d_output if a > 0 else 0.0,)", "(d_output,)")],
            {"depth", "relu_always"},
        ),
        (
            "shared_arrays",
            [("self.grad = self.grad + g", "self.grad += g")],
            {"depth", "shared_gradient"},
        ),
        (
            "taylor_pair",
            [("self.a[0] * o.a[1] + self.a[1] * o.a[0]", "self.a[1] * o.a[1]")],
            {"product_of_derivatives"},
        ),
        (
            "traces",
            [("add(mul(p[0], t[1]), mul(t[0], p[1]))", "mul(t[0], t[1])")],
            {"product_of_derivatives"},
        ),
        ("traces", [("neg(mul(sin(*p), *t))", "mul(sin(*p), *t)")], {"cosine_sign"}),
        ("wengert_class", [("bar[dep] +=", "bar[dep] =")], {"overwritten"}),
        ("wengert_class", [("range(out, -1, -1)", "range(out + 1)")], {"unreversed"}),
        ("wengert_class", [("(b, -1.0)", "(b, 1.0)")], {"subtraction_sign"}),
        (
            "wengert_tuples",
            [
                ("adjoints[output] = 1.0", "adjoints[-1] = 1.0"),
                ("range(output,", "range(len(tape) - 1,"),
            ],
            {"from_the_end"},
        ),
        (
            "wengert_tuples",
            [
                (
                    "bar * values[j]\n            adjoints[j] += bar * values[i]",
                    "bar * values[i]\n            adjoints[j] += bar * values[j]",
                )
            ],
            {"product_swapped"},
        ),
        ("wengert_tuples", [("bar * values[k]", "bar * values[i]")], {"exponential_of_input"}),
        (
            "wengert_tuples",
            [
                (
                    'return push("div", values[i] / values[j]',
                    'return push("div", values[i] // values[j]',
                )
            ],
            {"floor_division"},
        ),
    ],
)
def test_their_faults_are_named(tmp_path, engine, changes, mistakes):
    text = (ENGINES / f"{engine}.py").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "mine.py").write_text(text)
    assert set(grade(tmp_path / "mine.py").mistakes) == mistakes


def test_a_file_may_import_its_classes_from_another(tmp_path):
    (tmp_path / "classes.py").write_text((ENGINES / "pending_uses.py").read_text())
    (tmp_path / "mine.py").write_text("from classes import *\n")
    assert grade(tmp_path / "mine.py").mistakes == ()


# Before there is a sweep. -------------------------------------------------------------------------


def test_the_rules_of_nodes_without_a_sweep_are_graded():
    report = learn.grade(str(ENGINES / "partials_only.py"), "rules")
    assert report.abilities["shape"] == "partials"
    assert report.ok
    assert len(report.cases) == 5  # those of its operations: add, sub, mul, log, sin


def test_a_wrong_rule_is_named_before_there_is_a_sweep(tmp_path):
    text = (ENGINES / "partials_only.py").read_text()
    wrong = text.replace("[n2.value, n1.value]", "[n1.value, n2.value]")
    lists = r"\[(.*?)(?:, (.*))?\], (.*)\)\n    node.grad_wrt_parents = \[(.*?)(?:, (.*))?\]\n"
    pairs = re.sub(lists, r"list(zip([\4, \5], [\1, \2])), \3)\n", wrong).replace(", ]", "]")
    assert text != wrong != pairs
    for mine in (wrong, pairs):
        (tmp_path / "mine.py").write_text(mine)
        assert learn.grade(str(tmp_path / "mine.py"), "rules").mistakes == ("product_swapped",)


@pytest.mark.parametrize("task", ["", "order"])
def test_other_tasks_ask_for_a_sweep(task):
    report = learn.grade(str(ENGINES / "partials_only.py"), task)
    assert report.mistakes == ("missing_sweep",)
    assert "There is no forward(x), backward(y), y.backward() or grad(f)" in str(report)
