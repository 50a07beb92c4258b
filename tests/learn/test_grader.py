"""The grader: it names every fault, and raises no false alarm."""

import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import textwrap
from xml.etree import ElementTree

import pytest

import simpleautodiff as ad
from simpleautodiff import learn
from simpleautodiff.cli import main
from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.grading.answers import answer
from simpleautodiff.learn.grading.bank import BANK, TASKS
from simpleautodiff.learn.grading.case_run import agree
from simpleautodiff.learn.grading.known_faults import (
    FAULTS,
    ORDER_FAULTS,
    RULES,
    STYLES,
    VARIANTS,
)
from simpleautodiff.learn.grading.mistakes import MISTAKES, blame_operation
from simpleautodiff.learn.grading.prediction import predict
from simpleautodiff.learn.graphs import random_graph

ENGINES = pathlib.Path(__file__).parent / "engines"
BUGS = learn.bugs.BUGS


def grade(engine, *args, **options):
    return learn.grade(engine, *args, **{"depth": 1500, "programs": 10, **options})


def load_text(source):
    namespace = {"__name__": "mine"}
    exec(source, namespace)
    return namespace


# No false alarm. ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(1, 9))
def test_every_right_rung_passes(number):
    report = grade(learn.rung(number).engine)
    assert report.mistakes == ()
    assert report.ok
    assert all(report.cases.values())
    assert len(report.cases) > 60


def test_the_library_passes():
    report = grade(ad)
    assert report.mistakes == ()
    assert len(report.cases) > 90


def test_an_engine_with_a_limit_is_told_that_it_passes(capsys):
    engine = str(ENGINES / "value_class.py")
    assert main(["grade", engine]) == 0
    answer = capsys.readouterr().out
    assert "depth (a limit)" in answer
    assert "It passes" in answer
    assert "It passes" not in str(grade(learn.bugs.load("sign_of_div")))


def test_rung_0_has_the_defects_it_points_at():
    report = grade(learn.rung(0).engine)
    assert report.mistakes == (
        *("stale_unreached", "depth", "phantom_child", "leak", "shared_parents"),
    )
    assert not report.ok


@pytest.mark.parametrize(
    ("name", "shape", "limits"),
    [
        ("value_class", "value", ("depth",)),
        ("dual_numbers", "dual", ()),
        ("tape_class", "tape", ()),
        ("grad_function", "grad", ()),
        ("graph_class", "node", ()),
        ("function_class", "value", ()),
        ("array_class", "value", ()),
        ("pulled_gradients", "value", ("depth", "leak")),
        ("jvp_and_grad", "dual", ()),
        ("seed_argument", "value", ()),
        ("optional_gradients", "value", ("depth",)),
        ("static_graph", "value", ("depth",)),
        ("gradient_tape", "tape", ()),
        ("arrays_only", "value", ()),
        ("gradient_object", "tape", ()),
        ("list_of_inputs", "grad", ("depth",)),
        ("many_tangents", "dual", ()),
        ("value_and_grad", "grad", ()),
        ("one_variable", "dual", ()),
        ("printing_script", "value", ("depth",)),
        ("global_tape", "node", ()),
        ("given_tape", "tape", ()),
        ("slots_class", "node", ()),
        ("vjp_function", "grad", ()),
    ],
)
def test_engines_in_published_shapes_are_graded_without_adapters(name, shape, limits):
    report = grade(str(ENGINES / f"{name}.py"))
    assert report.abilities["shape"] == shape
    assert report.mistakes == limits
    assert report.ok


# Every fault by its name. -------------------------------------------------------------------------


DEFECTS = {"stale_unreached", "depth", "phantom_child", "leak", "shared_parents"}  # of rung 0
ALSO_ELSEWHERE = [
    pytest.param(name, marks=() if "_" not in name or name[-1].isalpha() else pytest.mark.slow)
    for name in BUGS
]


@pytest.mark.parametrize("name", ALSO_ELSEWHERE)
def test_every_fault_is_named(name):
    report = grade(learn.bugs.load(name))
    if BUGS[name].rung == 0:  # which has its own defects, too
        assert BUGS[name].hint in report.mistakes
        assert {*report.mistakes} <= {BUGS[name].hint, *DEFECTS}
        return
    assert report.mistakes == (BUGS[name].hint,)
    assert all(finding.certain for finding in report.findings)
    assert report.unexplained == ()
    assert BUGS[name].hint in str(report)


VISIT = """                for child in v._prev:
                    build_topo(child)
                topo.append(v)
"""
# A set has another order in each process, and so would the numbers of a wrong order.
ORDERED = ("set(_children)", "dict.fromkeys(_children)")
PRODUCT = "self.dual * other.real + self.real * other.dual"
FROM_THE_END = ("derivatives[output.index] = 1.0", "derivatives[-1] = 1.0")
WHOLE_TAPE = "range(len(self.entries) - 1,"
NO_DEFAULT = "(id(boxes[argnum]))"
POWER = ("self.data ** (exponent - 1)", "self.data**exponent")
EXP = ("self.grad += out.data * out.grad", "self.grad = out.data * out.grad")
PRE_VISIT = """                topo.append(v)
                for child in v._prev:
                    build_topo(child)
"""


@pytest.mark.parametrize(
    ("engine", "changes", "mistakes"),
    [
        ("value_class", [("grad +=", "grad =")], {"overwritten", "depth"}),
        ("value_class", [ORDERED, ("reversed(topo)", "topo")], {"unreversed", "depth"}),
        (
            "value_class",
            [ORDERED, (VISIT, PRE_VISIT), ("reversed(topo)", "topo")],
            {"preorder", "depth"},
        ),
        ("value_class", [("if v not in visited:", "if True:")], {"no_visited"}),
        ("value_class", [("        self.grad = 1.0\n", "")], {"no_seed", "depth"}),
        ("value_class", [("1 - out.data**2", "1 - self.data**2")], {"tanh_of_input", "depth"}),
        ("value_class", [("(out.data > 0)", "out.data")], {"relu_of_value", "depth"}),
        ("dual_numbers", [(PRODUCT, "self.dual * other.dual")], {"product_of_derivatives"}),
        ("dual_numbers", [("other.real - self.real", "other.real + self.real")], {"division_sign"}),
        ("dual_numbers", [(" * x.dual", "")], {"no_chain"}),
        ("dual_numbers", [("math.cos(x.real) * x.dual", "math.cos(x.real)")], {"no_chain_in_sin"}),
        ("tape_class", [("derivatives[index] +=", "derivatives[index] =")], {"overwritten"}),
        ("tape_class", [FROM_THE_END, ("range(output.index,", WHOLE_TAPE)], {"from_the_end"}),
        ("grad_function", [("adjoints.get(id(parent), 0.0) +", "")], {"overwritten"}),
        ("grad_function", [("(id(boxes[argnum]), 0.0)", NO_DEFAULT)], {"none_for_zero"}),
        ("graph_class", [("        node.grad = 0.0\n", "")], {"stale_sum"}),
        ("path_gradients", [], {"output_left_out", "exponential", "depth"}),
        ("dual_numbers", [("dual: float = 0.0", "dual: float = 1.0")], {"constants_seeded"}),
        ("jvp_and_grad", [("1.0 if j == i else 0.0", "1.0")], {"all_seeded"}),
        ("jvp_and_grad", [("T(o) - self", "self - T(o)"), ("math.cos(", "-math.cos(")],
         {"reflected_sub", "sine_sign"}),
        ("array_class", [("p.grad + g", "g")], {"overwritten"}),
        ("array_class", [("1 - v**2", "1 - v"), ("lambda g: (-g,)", "lambda g: (g,)")],
         {"tanh_square", "negation_sign"}),
        ("array_class", [("g * n * self", "g * self"), ("(g, -g)", "(g, g)")],
         {"power_factor", "subtraction_sign"}),
        ("function_class", [("grad += g", "grad = g"), ("g * b, g * a", "g * a, g * b")],
         {"overwritten", "product_swapped"}),
        ("function_class", [("-g * a / b**2", "-g * a / b"), ("(g / a,)", "(g / math.log(a),)")],
         {"division_square", "logarithm_of_value"}),
        ("value_class", [POWER, EXP], {"power_exponent", "overwritten_in_exp", "depth"}),
        ("seed_argument", [("adjoint +=", "adjoint =")], {"overwritten"}),
        ("optional_gradients", [("g if p.grad is None else p.grad + g", "g")],
         {"overwritten", "depth"}),
        ("static_graph", [("return (1.0, -1.0)", "return (1.0, 1.0)")],
         {"subtraction_sign", "depth"}),
        ("gradient_tape", [("reversed(self.ops)", "self.ops")], {"unreversed"}),
        ("arrays_only", [("gx if x.grad is None else x.grad + gx", "gx"), ("g, -g", "g, g")],
         {"overwritten", "subtraction_sign"}),
        ("gradient_object", [("d[dep] +=", "d[dep] =")], {"overwritten"}),
        ("list_of_inputs", [("(self, o.v), (o, self.v)", "(self, self.v), (o, o.v)")],
         {"product_swapped", "depth"}),
        ("many_tangents", [("self.val * o.der + o.val * self.der", "self.der * o.der")],
         {"product_of_derivatives"}),
        ("value_and_grad", [("g.get(id(p), 0.0) + ", ""), ("math.cos", "math.sin")],
         {"overwritten", "sine_is_sine"}),
        ("one_variable", [("DualNumber(x, 1)", "DualNumber(x)")], {"no_seed"}),
        ("printing_script", [("fn(v.grad)", "fn(1)")], {"no_adjoint", "depth"}),
        ("global_tape", [("adjoints[output.index] = 1", "adjoints[-1] = 1")], {"from_the_end"}),
        ("given_tape", [("other.index, -1.0", "other.index, 1.0")], {"subtraction_sign"}),
        ("given_tape", [("derivs[dep] += weight", "derivs[dep] = weight")], {"overwritten"}),
        ("path_closures", [], {"exponential", "depth"}),
        ("path_closures", [("gradient += g", "gradient = g")],
         {"overwritten", "exponential", "depth"}),
        ("value_class", [ORDERED, ("self.grad += other.data", "self.grad = other.data")],
         {"overwritten_in_mul", "depth"}),
        ("requires_grad", [], {"exponential", "depth"}),
        ("requires_grad", [("1 - data * data", "1 - data")],
         {"tanh_square", "exponential", "depth"}),
        ("slots_class", [("(o, -1.0)", "(o, 1.0)"), ("pending = {y: 1.0}", "pending = {y: y.val}")],
         {"subtraction_sign", "seed_is_value"}),
        ("slots_class", [("v.adj = 0.0\n", "pass\n")], {"stale_unreached"}),
        ("vjp_function", [("bars[slot] +=", "bars[slot] =")], {"overwritten"}),
        ("grad_function", [("in toposort(out)", "in reversed([*toposort(out)])")], {"raises"}),
    ],
)  # fmt: skip
def test_faults_of_engines_in_published_shapes_are_named(tmp_path, engine, changes, mistakes):
    text = (ENGINES / f"{engine}.py").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "mine.py").write_text(text)
    assert set(grade(str(tmp_path / "mine.py")).mistakes) == mistakes


@pytest.mark.parametrize("number", range(9))
def test_there_are_enough_faults_on_every_rung(number):
    here = [bug for bug in BUGS.values() if bug.rung == number]
    assert len(here) >= 20
    assert learn.bugs.choose(number) in {bug.name for bug in here}
    for bug in here:
        assert learn.bugs.source(bug.name) != learn.rung(number).text


OVERWRITTEN = ({"overwritten", "no_visited"}, {"overwritten", "stale_sum"})
PAIRS = [
    (a, b)
    for a, b in itertools.combinations(BUGS, 2)
    if BUGS[a].rung == BUGS[b].rung > 0  # the paper's program has faults enough
    and BUGS[a].hint != BUGS[b].hint
    # a sweep has one order; "depth" is part of some of them
    and not {BUGS[a].hint, BUGS[b].hint} <= {*ORDER_FAULTS, "depth"}
    # without a seed all is 0, whatever else is wrong: see the test of it
    and "no_seed" not in (BUGS[a].hint, BUGS[b].hint)
    # what is overwritten may be overwritten again, and an old number is overwritten, too
    and {BUGS[a].hint, BUGS[b].hint} not in OVERWRITTEN
]


def is_possible(pair):
    try:
        learn.bugs.source(*pair)
    except ArgumentError:
        return False  # the two faults change the same line
    return True


POSSIBLE = list(filter(is_possible, PAIRS))


@pytest.mark.parametrize("pair", random.Random(2).sample(POSSIBLE, 16), ids="-".join)
def test_two_faults_are_named(pair):
    report = grade(learn.bugs.load(*pair))
    assert set(report.mistakes) == {BUGS[name].hint for name in pair}


@pytest.mark.parametrize(
    ("seedless", "other", "shown"),
    [
        ("no_adjoint_seed", "sign_of_sub_3", True),  # by the forward sweep
        ("no_adjoint_seed", "tangent_overwritten_3", True),
        ("no_tangent_seed_2", "rsub", True),  # by the values
        ("no_adjoint_seed", "overwritten", False),  # the sum is one of zeros
        ("no_tangent_seed", "sign_of_sub", False),  # all there is is 0
    ],
)
def test_a_fault_beside_a_missing_seed_is_named_if_any_number_shows_it(seedless, other, shown):
    report = grade(learn.bugs.load(seedless, other))
    hidden = set() if shown else {BUGS[other].hint}
    assert set(report.mistakes) == {"no_seed", BUGS[other].hint} - hidden
    assert "grade it again when it is set" in " ".join(str(report).split())


ALIKE = {  # two faults that give the numbers of others at every graph, and those that are named
    # a sum has equal partials, in whichever place
    ("tangent_first_place", "sign_of_sub"): ({"subtraction_sign"}, ()),
    # x / z as x * z**-1, with that power's wrong derivative, has the same wrong derivative
    ("square_of_div", "exponent"): ({"power_exponent"}, ("division_square + power_exponent",)),
    # in this order just one node passes anything on: of equal parents the last one's
    ("tangent_of_a_set", "order_not_reversed"): (
        {"unreversed", "overwritten"},
        ("unreversed + parents_as_set",),
    ),
    ("parents_as_set", "not_reversed"): (
        {"unreversed", "overwritten"},
        ("unreversed + parents_as_set",),
    ),
}


@pytest.mark.parametrize(("pair", "named"), ALIKE.items(), ids=lambda x: "")
def test_two_faults_with_the_numbers_of_others_are_told_beside_them(pair, named):
    report = grade(learn.bugs.load(*pair))
    mistakes, others = named
    assert set(report.mistakes) == mistakes
    assert report.findings[0].others == others
    if not others:  # the other fault shows as soon as the first is mended
        (hidden,) = [name for name in pair if BUGS[name].hint not in mistakes]
        assert set(grade(learn.bugs.load(hidden)).mistakes) == {BUGS[hidden].hint}


@pytest.mark.parametrize(
    "pair",
    [
        (
            "equal_4",
            "tangents_summed_4",
        ),  # numbers of earlier graphs meet equal nodes of later ones
        ("tape_emptied_8", "last_node_8"),  # the emptied tape has no last node
        ("sub_turned_4", "mul_one_term_4"),  # 2 * x is computed as x * 2
        ("tangents_summed_3", "forgetful"),  # a node that is visited twice adds to itself
        ("square_of_div_7", "whole_division_7"),  # the partial is computed from the floored value
    ],
    ids="-".join,
)
def test_two_faults_that_meet_are_named(pair):
    report = grade(learn.bugs.load(*pair))
    assert set(report.mistakes) == {BUGS[name].hint for name in pair}
    assert report.unexplained == ()


def test_the_model_without_faults_is_right():
    cases = [case for case in BANK if not case.kink and not case.length]
    for case in cases:
        for mode in ("forward", "reverse"):
            for script in case.scripts(mode):
                for style in STYLES:
                    found = predict(case.graph, script, (), style)
                    if found is None and style == "paths":
                        continue  # there are too many
                    values, sweeps = found
                    right_values, rights = answer(case.graph, script)
                    assert values == pytest.approx(right_values)
                    for sweep, right in zip(sweeps, rights, strict=True):
                        assert sweep == pytest.approx(right, abs=1e-12)


def test_every_fault_of_the_model_shows_in_the_bank():
    for fault in FAULTS:
        shown = False
        for case in BANK:
            for mode in ("reverse", "forward"):
                for script in case.scripts(mode):
                    wrong = predict(case.graph, script, [fault])
                    shown = shown or wrong != predict(case.graph, script)
        assert shown, fault
        assert VARIANTS.get(fault, fault) in MISTAKES


def test_the_bank_is_large_and_every_graph_says_what_it_exposes():
    assert len(BANK) >= 60
    assert len({case.name for case in BANK}) == len(BANK)
    assert {"order", "sum", "twice", "sweeps", "cost", "depth", "kinks"} <= set(TASKS)
    known = {*MISTAKES, "wrong_rule", "input_unused", "interior", "output_is_input"}
    assert {case.exposes for case in BANK} <= {*known, "name_reused", "reflected", "integers"}


# What is said. ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mistake", [*MISTAKES.values(), *(blame_operation(name, value=True) for name in RULES)]
)
def test_where_to_read_is_a_name_of_the_rung(mistake):
    """A report ends with the rung and the function to read there."""
    is_there = rf"^(def |class )?{mistake.where}\b"
    assert re.search(is_there, learn.rung(mistake.rung).text, re.MULTILINE)


def test_any_number_of_wrong_rules_is_named_beside_another_fault():
    rules = ("sign_of_sub_3", "sign_of_div_3", "exp_of_input_3")
    others = ("sign_of_neg_3", "sign_of_cos_3", "no_factor_3")
    for faults in (rules, (*rules, "overwritten"), (*others, "first_place")):
        report = grade(learn.bugs.load(*faults))
        assert set(report.mistakes) == {BUGS[name].hint for name in faults}


COSINE = ('"sin", (x, math.cos(value_of(x)))', '"sin", (x, math.cos(value_of(x)) ** 2)')
TWICE = ('"exp", (x, v)', '"exp", (x, 2 * v)')


@pytest.mark.parametrize("known", [("overwritten",), ("seed",), ("rsub_3", "sign_of_div_3")])
def test_rules_that_are_wrong_in_an_unknown_way_hide_no_known_fault(known):
    text = learn.bugs.source(*known)
    for old, new in (COSINE, TWICE):
        assert old in text
        text = text.replace(old, new)
    report = grade(load_text(text))
    wrong_rules = [found.operation for found in report.findings if found.operation]
    assert wrong_rules == ["exp", "sin"]
    hints = {BUGS[name].hint for name in known}
    assert set(report.mistakes) == {*hints, "wrong_rule"}
    assert report.unexplained == ()


def test_the_diagnosis_is_one():
    text = str(grade(learn.bugs.load("first_place")))
    assert "y = x - x  at x = 1.3: you return 2 for ∂y/∂x, right is 0" in text
    assert "finds a parent's partial by its first place in the list" in " ".join(text.split())
    assert "x = 1.3        0      2  <--" in text
    assert "│ x ├─┬─▶│ v1 ├───▶ y = f(x)" in text
    assert "Read rung 3, `reverse`" in text


def test_one_task_can_be_graded_by_itself():
    engine = learn.bugs.load("preorder")
    assert grade(engine, "order").mistakes == ("preorder",)
    assert grade(engine, "rules").mistakes == ()
    with pytest.raises(ArgumentError, match="there is no 'ordre'"):
        grade(engine, "ordre")


def test_the_same_seed_gives_the_same_report():
    engine = learn.bugs.load("overwritten")
    assert grade(engine, seed=3).to("json") == grade(engine, seed=3).to("json")


def test_unknown_mistakes_are_shrunk_to_the_smallest_graph():
    source = learn.rung(3).text.replace("(x, math.cos(value_of(x)))", "(x, 0.9)")
    report = grade(load_text(source))
    assert report.mistakes == ("wrong_rule",)
    run = report.findings[0].run
    assert [step[1] for step in run.case.graph.steps] == ["sin"]
    assert report.unexplained == ()


@pytest.mark.parametrize(
    ("right", "wrong", "name", "says"),
    [
        ("(x, math.cos(value_of(x)))", "(x, 0.9)", "wrong_rule", "The rule of your sin is wrong"),
        ("record(math.sin(value_of(x))", "record(0.5", "wrong_value", "value of your sin"),
        ("record(a * b,", "record(a * b + 1,", "wrong_value", "value of your multiplication"),
    ],
)
def test_an_operation_that_is_wrong_by_itself_is_named(right, wrong, name, says):
    report = grade(load_text(learn.rung(3).text.replace(right, wrong)))
    assert report.mistakes == (name,)
    assert name in MISTAKES  # as the report of a class needs it
    assert says in str(report)


@pytest.mark.parametrize("number", [3, 4])
def test_a_sweep_that_forgets_the_adjoint_of_the_node_is_named(number):
    text = learn.rung(number).text
    report = grade(load_text(text.replace("bar[node] * dnode_dparent", "dnode_dparent")))
    assert report.mistakes == ("no_adjoint",)
    assert all(finding.certain for finding in report.findings)


def test_reports_are_written_in_every_format():
    report = grade(learn.bugs.load("sign_of_div"))
    data = json.loads(report.to("json"))
    assert data["mistakes"] == ["division_sign"]
    assert data["findings"][0]["rows"]
    suite = ElementTree.fromstring(report.to("junit"))
    assert int(suite.get("failures")) == len(suite.findall(".//failure")) > 0
    assert int(suite.get("tests")) == len(report.cases)
    page = report.to("html")
    assert "<svg" in page
    assert "class=wrong" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    with pytest.raises(ArgumentError, match="not 'pdf'"):
        report.to("pdf")


def test_a_failing_graph_has_the_diagnosis_that_explains_it():
    report = grade(learn.bugs.load("sign_of_div", "sign_of_cos"))
    suite = ElementTree.fromstring(report.to("junit"))
    failures = {test.get("name"): test.findtext("failure") for test in suite if len(test)}
    division, cosine = MISTAKES["division_sign"].says, MISTAKES["cosine_sign"].says
    for name, text in failures.items():
        assert (division in text) == ("/" in name)
        assert (cosine in text) == ("cos" in name)
    assert report.unexplained == ()


def test_graphs_that_fail_for_no_known_reason_are_shown_beside_a_known_one():
    source = learn.bugs.source("sign_of_div").replace("math.exp(value_of(x))", "3.25")
    report = grade(load_text(source))
    assert set(report.mistakes) == {"division_sign", "wrong_value"}
    assert "Your exp" in str(report) or "your exp" in str(report)
    report = grade(load_text(source.replace("math.cos(value_of(x)),", "1.5,")))
    assert report.mistakes == ("division_sign", "wrong_value", "wrong_value")  # of both
    assert report.unexplained == ()


# The learner's code cannot do harm. ---------------------------------------------------------------

GOOD = (ENGINES / "graph_class.py").read_text()


def grade_text(tmp_path, extra, **options):
    path = tmp_path / "mine.py"
    path.write_text(GOOD + textwrap.dedent(extra))
    return grade(str(path), **options)


def test_code_that_ends_its_process_does_not_end_the_grader(tmp_path):
    ends = """
    import os
    honest = backward
    def backward(y):
        if y.value == 0:
            os._exit(0)
        honest(y)
    """
    assert grade_text(tmp_path, ends).mistakes == ("died",)
    with pytest.raises(ArgumentError, match=r"it (ended|did not come back) while"):
        grade_text(tmp_path, "import os; os._exit(0)")


def test_code_that_exits_while_it_is_imported_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="cannot be graded: SystemExit"):
        grade_text(tmp_path, "raise SystemExit(0)")


def test_code_that_never_returns_is_stopped(tmp_path):
    endless = """
    honest = backward
    def backward(y):
        while len(y.parents) == 2 and y.parents[0] is y.parents[1]:
            pass
        honest(y)
    """
    report = grade_text(tmp_path, endless, seconds=0.5)
    assert "timeout" in report.mistakes


@pytest.mark.parametrize(
    "attempt",
    [
        "import simpleautodiff",
        "import socket; socket.socket()",
        "open('stolen.txt', 'w')",
        "open('/etc/passwd').read()",
        "import os; os.kill(os.getppid(), 9)",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "open('/proc/self/environ').read()",
    ],
)
def test_code_cannot_read_answers_or_reach_out(tmp_path, attempt):
    with pytest.raises(ArgumentError, match="is not allowed while an engine is graded"):
        grade_text(tmp_path, attempt)


def test_the_library_s_files_cannot_be_read(tmp_path):
    with pytest.raises(ArgumentError, match="is not allowed"):
        grade_text(tmp_path, f"open({learn.__file__!r}).read()")


def test_memory_is_limited(tmp_path):
    with pytest.raises(ArgumentError, match="MemoryError"):
        grade_text(tmp_path, "hoard = bytearray(2**40)")


def test_what_a_learner_prints_is_no_answer(tmp_path):
    report = grade_text(tmp_path, "print('{\"abilities\": {}}')")
    assert report.mistakes == ()


def test_a_file_without_an_engine_is_refused(tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\n")
    with pytest.raises(ArgumentError, match="no engine was found"):
        grade(str(tmp_path / "mine.py"))
    with pytest.raises(ArgumentError, match="there is no file"):
        grade(str(tmp_path / "yours.py"))


def test_names_that_cannot_be_guessed_can_be_given(tmp_path):
    text = GOOD.replace("backward", "run_it").replace("Node", "Thing")
    (tmp_path / "mine.py").write_text(text)
    names = {"node": "Thing", "backward": "run_it"}
    report = grade(str(tmp_path / "mine.py"), shape="node", names=names)
    assert report.mistakes == ()
    assert len(report.cases) > 40


def test_a_class_and_a_function_can_be_graded_as_they_are():
    three, four = learn.rung(3).engine, learn.rung(4).engine
    assert grade(three.Node).mistakes == ()
    report = grade(four.grad, shape="grad")
    assert report.abilities["shape"] == "grad"
    assert report.mistakes == ()


def test_exponential_work_is_found_by_counting(tmp_path):
    counted = """
    def backward(y):
        for node in ancestors(y).values():
            node.grad = 0.0
        def pass_back(node, adjoint):
            node.grad += adjoint
            for parent, partial in zip(node.parents, node.partials, strict=True):
                pass_back(parent, adjoint * partial)
        pass_back(y, 1.0)
    """
    report = grade_text(tmp_path, counted)
    assert report.mistakes == ("exponential", "depth")


def test_a_default_list_that_all_nodes_share_is_named(tmp_path):
    shared = """
    class Node:
        def __init__(self, value, parents=[], partials=[]):
            self.value, self.parents, self.partials, self.grad = value, parents, partials, 0.0

    def make(value, *edges):
        node = Node(value)
        for parent, partial in edges:
            node.parents.append(parent)
            node.partials.append(partial)
        return node

    def add(a, b):
        return make(a.value + b.value, (a, 1.0), (b, 1.0))

    def multiply(a, b):
        return make(a.value * b.value, (a, b.value), (b, a.value))

    def sub(a, b):
        return make(a.value - b.value, (a, 1.0), (b, -1.0))

    def backward(y):
        order, visited = [], set()

        def visit(node):
            if node not in visited:
                visited.add(node)
                for parent in node.parents:
                    visit(parent)
                order.append(node)

        visit(y)
        for node in order:
            node.grad = 0.0
        y.grad = 1.0
        for node in reversed(order):
            for parent, partial in zip(node.parents, node.partials):
                parent.grad += partial * node.grad

    del divide, sqrt
    """
    assert grade_text(tmp_path, shared).mistakes == ("shared_parents",)


def test_a_default_list_that_nobody_writes_to_is_a_trap_and_no_mistake(tmp_path):
    report = grade_text(tmp_path, "Node.__init__.__defaults__ = ([], [])")
    assert report.mistakes == ()  # this one takes `parents or []`
    path = tmp_path / "mine.py"
    path.write_text(GOOD.replace("parents=None", "parents=[]").replace("parents or []", "parents"))
    report = grade(str(path))
    assert report.mistakes == ("shared_parents",)
    assert report.ok


def test_what_would_give_the_same_numbers_is_said():
    engine = dict(vars(learn.bugs.load("sign_of_sub")))
    report = grade({**engine, "__name__": "broken_sign_of_sub"}, "rules")
    assert all(finding.others == () for finding in report.findings)
    report = grade(learn.bugs.load("first_place"), "rules")
    assert report.mistakes == ()


def test_agreement_is_up_to_rounding():
    assert agree([1.0], [1.0 + 1e-12])
    assert not agree([1.0], [1.0 + 1e-5])
    assert not agree([None], [0.0])


# The command. -------------------------------------------------------------------------------------


def test_the_command_grades_a_file(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(learn.bugs.source("sign_of_sub"))
    assert main(["grade", str(path), "--task", "rules"]) == 1
    out, err = capsys.readouterr()
    assert "The second partial of a - b is -1." in out
    assert "is not right yet: subtraction_sign" in err
    assert main(["grade", str(path), "--task", "depth"]) == 0
    assert main(["grade", str(tmp_path / "none.py")]) == 2


def test_random_graphs_are_the_same_for_the_same_seed():
    one, two = (random_graph(random.Random(5), size=9) for _ in range(2))
    assert one == two


def test_the_worker_loads_nothing_of_the_library():
    code = (
        "import runpy, sys; m = runpy.run_path(sys.argv[1]); m['load_tools']();"
        "print([n for n in sys.modules if n.startswith(('simpleautodiff', 'numpy'))])"
    )
    worker = pathlib.Path(learn.__file__).parent / "grading" / "learner_process.py"
    command = [sys.executable, "-I", "-c", code, str(worker)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
