"""The grader finds engines whose names nobody can guess, by what their parts do."""

import pathlib
import re

import pytest

from simpleautodiff import learn
from simpleautodiff.errors import ArgumentError

ENGINES = pathlib.Path(__file__).parent / "engines"


def grade(path, **options):
    return learn.grade(str(path), depth=1500, programs=10, **options)


@pytest.mark.parametrize(
    ("name", "shape", "limits"),
    [
        ("active_tape", "grad", ()),
        ("chinese_variables", "value", ("depth",)),
        ("dict_graph", "tape", ()),
        ("grad_class", "grad", ()),
        ("operator_enum", "node", ()),
        ("parallel_lists", "node", ()),
        ("partials_by_input", "node", ()),
        ("portuguese_children", "value", ("depth", "leak")),
        ("quantities", "node", ()),
        ("spanish_gradient", "grad", ()),
        ("turkish_tape", "node", ("leak",)),
        ("wengert_list", "tape", ()),
    ],
)
def test_right_engines_pass_whatever_their_names_are(name, shape, limits):
    report = grade(ENGINES / f"{name}.py")
    assert report.abilities["shape"] == shape
    assert report.mistakes == limits
    assert report.ok


@pytest.mark.parametrize(
    ("engine", "changes", "mistakes"),
    [
        ("french_nodes", [], {"stale_unreached"}),
        (
            "french_nodes",
            [("(self, autre.valeur), (autre, self.valeur)",
              "(self, self.valeur), (autre, autre.valeur)")],
            {"stale_unreached", "product_swapped"},
        ),
        ("chinese_variables", [("父.梯度 += 导数", "父.梯度 = 导数")], {"overwritten", "depth"}),
        (
            "dict_graph",
            [("bar[arg] += ", "bar[arg] = "), ("(1 / a,)", "(1 / math.log(a),)")],
            {"overwritten", "logarithm_of_value"},
        ),
        (
            "operator_enum",
            [("[-math.sin(v[0])]", "[math.sin(v[0])]"), ("-v[0] / v[1]", "v[0] / v[1]")],
            {"cosine_sign", "division_sign"},
        ),
        (
            "wengert_list",
            [
                ("adjoints[self.idx] = 1.0", "adjoints[-1] = 1.0"),
                ("range(self.idx, -1, -1)", "range(len(adjoints) - 1, -1, -1)"),
                ("(self.idx, 1.0), (o.idx, -1.0)", "(self.idx, -1.0), (o.idx, 1.0)"),
            ],
            {"from_the_end", "subtraction_turned"},
        ),
        ("parallel_lists", [("g[AD.left[k]] += g[k]", "g[AD.left[k]] += 1")], {"unknown"}),
        (
            "portuguese_children",
            [("(self.valor, z)", "(o.valor, z)"), ("(-1.0, z)", "(1.0, z)")],
            {"depth", "leak", "subtraction_sign", "wrong_rule"},
        ),
        ("quantities", [("np.cos(q.magnitude)", "-np.cos(q.magnitude)")], {"sine_sign"}),
        ("turkish_tape", [("in reversed(Degisken", "in (Degisken")], {"leak", "unreversed"}),
        ("spanish_gradient", [("adj[id(p)] += ", "adj[id(p)] = ")], {"overwritten"}),
    ],
)  # fmt: skip
def test_faults_are_named_whatever_the_names_of_the_engine_are(tmp_path, engine, changes, mistakes):
    text = (ENGINES / f"{engine}.py").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    assert set(grade(tmp_path / "mine.py").mistakes) == mistakes


def test_the_name_of_a_derivative_is_found_by_the_sweep_that_changes_it(tmp_path):
    text = re.sub(r"\.d\b", ".sens", (ENGINES / "closures.py").read_text())
    (tmp_path / "mine.py").write_text(text)
    assert grade(tmp_path / "mine.py").ok


def test_the_functions_of_an_engine_are_found_by_their_values(tmp_path):
    report = grade(ENGINES / "french_nodes.py", task="rules")
    assert {"sin", "cos", "exp", "log"} <= {*report.abilities["operations"]}


def test_what_is_no_engine_is_refused_and_the_reason_is_said(tmp_path):
    symbolic = "def diff(e, x='x'):\n    op, a, b = e\n    return (op, diff(a), diff(b))\n"
    (tmp_path / "mine.py").write_text(symbolic)
    with pytest.raises(ArgumentError, match=r"diff\(f\) of a function f raises TypeError"):
        grade(tmp_path / "mine.py")


def test_one_function_is_named_and_not_all_functions(tmp_path):
    engine = (ENGINES / "value_class.py").read_text()
    old = "self.grad += (out.data > 0) * out.grad"
    assert old in engine
    wrong = engine.replace(old, old.replace("+=", "="))
    wrong = wrong.replace(
        "exponent * self.data ** (exponent - 1)", "exponent * self.data**exponent"
    )
    (tmp_path / "mine.py").write_text(wrong)
    report = grade(tmp_path / "mine.py")
    assert set(report.mistakes) == {"overwritten_in_relu", "power_exponent", "depth"}
    assert "same numbers" not in str(report)
