"""What the grader says of engines that can do little, cannot be read, or are half mended."""

import pathlib

import pytest

import simpleautodiff as ad
from simpleautodiff import learn
from simpleautodiff.cli import main
from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.grading.bank import BANK

ENGINES = pathlib.Path(__file__).parent / "engines"


def grade(engine, *args, **options):
    return learn.grade(engine, *args, **{"depth": 1500, "programs": 10, **options})


# What is no engine, or cannot be read. ------------------------------------------------------------

EMPTY = """
class Node:
    def __init__(self, value):
        self.value, self.grad = value, 0.0

def backward(y):
    pass
"""
ONLY_ADD = """
class Node:
    def __init__(self, value, parents=()):
        self.value, self.parents, self.grad = value, parents, 0.0

    def __add__(self, other):
        return Node(self.value + other.value, (self, other))

def backward(y):
    y.grad += 1.0
    for parent in y.parents:
        backward(parent)
"""
DIFFERENCES = """
def grad(f, h=1e-6):
    def gradient(*xs):
        def shifted(k, by):
            return f(*(x + by * (j == k) for j, x in enumerate(xs)))
        return tuple((shifted(k, h) - shifted(k, -h)) / (2 * h) for k in range(len(xs)))
    return gradient
"""


def write_engine(folder, text):
    path = folder / "mine.py"
    path.write_text(text)
    return str(path)


def test_an_engine_without_operations_is_refused(tmp_path):
    path = write_engine(tmp_path, EMPTY)
    for task in ("", "rules", "kinks"):
        with pytest.raises(ArgumentError, match=r"cannot be graded: it has no operations"):
            grade(path, task)
    one = learn.grade_class(tmp_path).submissions[0]
    assert not one.ok
    assert "no operations" in one.refused


def test_an_operation_that_always_raises_is_no_operation(tmp_path):
    text = EMPTY.replace(
        "def backward", "def add(a, b):\n    return a.valu + b.value\n\ndef backward"
    )
    with pytest.raises(ArgumentError, match=r"add raises AttributeError: .* 'valu'"):
        grade(write_engine(tmp_path, text))


@pytest.mark.parametrize("task", ["", "rules", "chain", "twice", "sum", "order"])
def test_an_engine_that_only_adds_passes_no_task(tmp_path, task):
    report = grade(write_engine(tmp_path, ONLY_ADD), task)
    assert not report.ok
    assert report.mistakes[0] == "missing_operations"
    assert "It has no mul." in str(report)


def test_a_task_of_which_no_graph_can_be_asked_is_not_passed():
    report = grade(learn.rung(0).engine, "kinks")
    assert report.cases == {}
    assert report.wrong == ("missing_operations",)
    assert "No graph of this task can be built with it: it has no abs, max, relu." in str(report)


def test_what_an_engine_must_have_can_be_said():
    engine = learn.rung(0).engine
    assert grade(engine, "rules", needs=["add", "log"]).ok
    assert grade(engine, "rules", needs=["add", "tanh"]).wrong == ("missing_operations",)
    with pytest.raises(ArgumentError, match=r"got \['plus'\]"):
        grade(engine, needs=["plus"])


def test_what_was_not_asked_is_said():
    report = grade(learn.rung(0).engine, "rules")
    assert {case.task for case in report.skipped} == {"rules"}
    assert len(report.skipped) + len(report.cases) == sum(case.task == "rules" for case in BANK)
    said = " ".join(str(report).split())
    assert "graphs were not asked: it has no abs, cos, div, exp, max, neg, pow" in said


@pytest.mark.parametrize("task", ["", "rules", "chain", "twice", "sum", "order"])
def test_differences_are_not_taken_for_derivatives(tmp_path, task):
    report = grade(write_engine(tmp_path, DIFFERENCES), task)
    assert report.wrong == ("differences",)
    assert "not to rounding" in " ".join(str(report).split())


def test_a_function_that_is_no_grad_is_refused_in_the_words_of_the_engine(tmp_path):
    for text, says in [
        ("return lambda *xs: tuple(0.0 for x in xs)", "without ever calling f"),
        ("pass", "grad\\(f\\) returns None, not the function"),
    ]:
        with pytest.raises(ArgumentError, match=f"cannot be graded: grad.*{says}|{says}"):
            grade(write_engine(tmp_path, f"def grad(f):\n    {text}\n"))
    needed = DIFFERENCES.replace("h=1e-6", "h")
    with pytest.raises(ArgumentError, match="all arguments but f need a default"):
        grade(write_engine(tmp_path, needed))


def test_a_function_that_differentiates_one_argument_is_graded():
    report = grade(ad.grad)
    assert report.ok
    assert all(report.cases.values())


BY_POSITION = """
import math

class Var:
    def __init__(self, tape, place, value):
        self.tape, self.{name}, self.value = tape, place, value

    def __add__(self, other):
        return self.tape.push(self.value + other.value, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        return self.tape.push(self.value * other.value, (self, other.value), (other, self.value))

    def sin(self):
        return self.tape.push(math.sin(self.value), (self, math.cos(self.value)))

class Tape:
    def __init__(self):
        self.nodes = []

    def push(self, value, *edges):
        self.nodes.append([(node.{name}, partial) for node, partial in edges])
        return Var(self, len(self.nodes) - 1, value)

    def var(self, value):
        return self.push(value)

    def gradient(self, y):
        g = [0.0] * len(self.nodes)
        g[y.{name}] = 1.0
        for place, edges in reversed(list(enumerate(self.nodes))):
            for parent, partial in edges:
                g[parent] += partial * g[place]
        return {returned}
"""


def test_a_property_that_raises_is_no_obstacle(tmp_path):
    text = (ENGINES / "graph_class.py").read_text()
    trap = "\nNode.last = property(lambda node: node.parents[-1])\n"
    assert grade(write_engine(tmp_path, text + trap)).mistakes == ()


@pytest.mark.parametrize("name", ["index", "i", "idx", "id"])
@pytest.mark.parametrize("returned", ["g", "dict(enumerate(g))", "tuple(g)"])
def test_derivatives_by_position_on_the_tape_are_read(tmp_path, name, returned):
    report = grade(write_engine(tmp_path, BY_POSITION.format(name=name, returned=returned)))
    assert report.abilities["shape"] == "tape"
    assert report.mistakes == ()
    assert len(report.cases) > 40


def test_faults_of_a_tape_that_is_read_by_position_are_named(tmp_path):
    text = BY_POSITION.format(name="i", returned="g").replace("g[parent] +=", "g[parent] =")
    assert grade(write_engine(tmp_path, text)).mistakes == ("overwritten",)


@pytest.mark.parametrize(
    ("returned", "says"),
    [("{'x': g}", "a dict by str"), ("[str(g)] * 99", "a list of str"), ("3", "int, and its")],
)
def test_what_cannot_be_read_is_said_and_not_called_wrong_numbers(tmp_path, returned, says):
    name = "place" if "list" in says else "i"
    report = grade(write_engine(tmp_path, BY_POSITION.format(name=name, returned=returned)))
    assert report.wrong == ("unreadable",)
    assert says in str(report)
    assert "cannot read what your sweep returns" in " ".join(str(report).split())


# Half mended. -------------------------------------------------------------------------------------

OWN_SWEEPS = {
    "add": ("self.grad += out.grad\n            other.grad += out.grad", "addition"),
    "mul": (
        "self.grad += other.data * out.grad\n            other.grad += self.data * out.grad",
        "multiplication",
    ),
}


@pytest.mark.parametrize("operation", OWN_SWEEPS)
def test_a_sum_that_is_missing_in_one_operation_is_named(tmp_path, operation):
    text = (ENGINES / "value_class.py").read_text()
    adds, word = OWN_SWEEPS[operation]
    assert adds in text
    report = grade(write_engine(tmp_path, text.replace(adds, adds.replace("+=", "="))))
    assert report.wrong == (f"overwritten_in_{operation}",)
    assert f"Your {word} assigns" in " ".join(str(report).split())


def test_what_nothing_explains_is_not_called_probable():
    source = learn.rung(3).text.replace(
        "bar[node] * dnode_dparent", "1.5 * bar[node] * dnode_dparent"
    )
    namespace = {"__name__": "odd"}
    exec(source, namespace)
    text = str(grade(namespace))
    assert "no known misconception explains" in text
    assert "Probably" not in text


def test_limits_are_not_listed_among_what_is_wrong(tmp_path, capsys):
    text = (ENGINES / "value_class.py").read_text().replace("1 - out.data**2", "1 - self.data**2")
    path = write_engine(tmp_path, text)
    assert main(["grade", path]) == 1
    out, err = capsys.readouterr()
    assert "depth (a limit)" in out
    assert err.strip().endswith("is not right yet: tanh_of_input")
    assert "<h2>depth (a limit)</h2>" in grade(path).to("html")


def test_a_notebook_shows_the_diagnosis_and_a_prompt_a_line(tmp_path):
    (tmp_path / "bob.py").write_text(learn.bugs.source("sign_of_sub"))
    report = grade(str(tmp_path / "bob.py"), "rules")
    sheet = learn.exercise("x*x - y", 2, -5)
    whole = learn.grade_class(tmp_path, "rules")
    for shown, line in [
        (report, "subtraction_sign; print it for the diagnosis>"),
        (sheet, "blanks>"),
        (whole, ": 1 submissions>"),
    ]:
        assert shown._repr_mimebundle_() == {"text/plain": str(shown)}
        assert repr(shown).endswith(line)
        assert "\n" not in repr(shown)


def test_a_report_fits_a_phone_and_a_dark_screen(tmp_path):
    (tmp_path / "bob.py").write_text(learn.bugs.source("sign_of_sub"))
    for page in (
        grade(str(tmp_path / "bob.py"), "rules").to("html"),
        learn.grade_class(tmp_path, "rules").to("html"),
    ):
        assert '<meta name="viewport" content="width=device-width' in page
        assert "prefers-color-scheme: dark" in page


def test_too_much_memory_is_said(tmp_path):
    path = write_engine(tmp_path, "x = bytearray(10**11)\n")
    with pytest.raises(ArgumentError, match=r"MemoryError: more than is allowed$"):
        grade(path)


def test_an_engine_may_list_the_folders_it_imports_from_and_no_other(tmp_path):
    listing = "import os\nos.listdir({!r})\n"
    path = write_engine(tmp_path, listing.format(str(pathlib.Path(ad.__file__).parent)))
    with pytest.raises(ArgumentError, match=r"PermissionError: os.listdir is not allowed"):
        grade(path)
    path = write_engine(tmp_path, listing.format("/"))
    with pytest.raises(ArgumentError, match=r"PermissionError: os.listdir is not allowed"):
        grade(path)
