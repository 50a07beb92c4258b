"""Exercises: the right answers are the library's, wrong ones are explained; and classes."""

import csv
import io
import json
import shutil
import subprocess
from fractions import Fraction

import mpmath
import pytest

import simpleautodiff as ad
from simpleautodiff import learn
from simpleautodiff.cli import main
from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.exercises import same

ALL = ("values", "partials", "tangents", "adjoints", "order")


def paper():
    return learn.exercise("log(x1) + x1*x2 - sin(x2)", 2, 5, about=ALL, blanks=1)


def test_the_cells_are_those_of_the_paper_s_tables():
    cells = {cell.key: cell.right for cell in paper().cells}
    right = {
        **{"values v1": 0.693, "values v2": 10, "values v5": 11.652},
        **{"partials ∂v2/∂x1": 5, "partials ∂v2/∂x2": 2, "partials ∂v5/∂v3": -1},
        **{"tangents x1": 1, "tangents x2": 0, "tangents v1": 0.5, "tangents v5": 5.5},
        **{"adjoints x1": 5.5, "adjoints x2": 1.716, "adjoints v3": -1, "adjoints v5": 1},
    }
    for key, number in right.items():
        assert float(cells[key]) == pytest.approx(number, abs=6e-4), key


def test_fractions_are_exact():
    sheet = learn.exercise(
        lambda x, y: (x * y - x) / (y + 2 * x), Fraction(2), Fraction(5), blanks=1
    )
    answers = {cell.key: cell.right for cell in sheet.cells}
    assert answers["adjoints x"] == Fraction(20, 81)  # by hand: (y-1)/(y+2x) - 2(xy-x)/(y+2x)²
    assert sheet.check({"adjoints x": "20/81"})[0].right
    assert not sheet.check({"adjoints x": "0.2469"})[0].right


@pytest.mark.parametrize("formula", ["max(x, y) * x", "floor(x) * y", "min(y, x) - y"])
def test_an_argument_that_does_not_count_has_the_partial_0(formula):
    sheet = learn.exercise(formula, 2, 5, about=["partials"], blanks=1)
    right = {cell.key: cell.right for cell in sheet.cells}
    assert 0 in right.values()
    assert all(isinstance(number, (int, float)) for number in right.values())
    assert all(mark.right for mark in sheet.check(right))
    assert r"\boldsymbol{0}" in sheet.to("latex", answers=True)


def test_what_only_arrays_in_memory_do_explains_no_answer():
    sheet = learn.exercise("x*z + x", 2, 5, about=["adjoints"], blanks=1)
    (mark,) = sheet.check({"adjoints z": "12"})  # (1 + 5) × 2, as if v1 and x had one adjoint
    assert not mark.right
    assert mark.says == ""


def test_right_answers_are_right_in_every_cell():
    sheet = paper()
    marks = sheet.check({cell.key: str(cell.right) for cell in sheet.cells})
    assert all(mark.right for mark in marks)


@pytest.mark.parametrize(
    ("formula", "key", "answer", "mistake"),
    [
        ("x - y", "partials ∂v1/∂y", "1", "The second partial of a - b is -1."),
        ("x / y", "adjoints y", "3/16", "the sign is missing"),
        ("x * x", "adjoints x", "3", "one of its places is lost"),
        ("x/y + x", "adjoints x", "1/4", "where contributions must be added"),
        ("x*y", "partials ∂v1/∂x", "3", "with respect to a is b, and not a"),
        ("cos(x)", "adjoints x", "sin(3)", "The derivative of cos is -sin"),
        ("x**3", "adjoints x", "81", "you do not lower the exponent"),
    ],
)
def test_wrong_answers_are_diagnosed_by_the_grader_s_misconceptions(formula, key, answer, mistake):
    point = [3, 4] if "y" in formula else [3]
    sheet = learn.exercise(formula, *point, about=("partials", "adjoints"), blanks=1)
    (mark,) = sheet.check({key: answer})
    assert not mark.right
    assert mistake in mark.says


def test_any_topological_order_is_right():
    sheet = paper()
    for order in ("x1 v1 v2 v4 v5", "x1, v2, v1, v4, v5"):
        assert sheet.check({"order": order})[0].right
    for order, says in (
        ("x1 v1 v4 v5 v2", "v4 stands before its parent v2"),
        ("x1 v1 v2 v3 v4 v5", "v3 cannot be reached from x1"),
        ("x1 v1 v4 v5", "v2 is missing"),
        ("x1 v1 v1 v2 v4 v5", "v1 stands there twice"),
    ):
        assert says in sheet.check({"order": order})[0].says


def test_the_same_seed_makes_the_same_sheet():
    sheets = [learn.exercise("x*y - sin(x)", 2, 5, seed=seed) for seed in (1, 1, 2, 3, 4)]
    assert str(sheets[0]) == str(sheets[1])
    assert len({str(sheet) for sheet in sheets}) > 1
    assert str(sheets[0]).count("______") == len(sheets[0].blanks)


def test_every_table_that_was_asked_for_has_a_blank():
    for seed in range(40):
        sheet = learn.exercise("x*y + (x - y)*x", 2, 5, about=["values", "order"], seed=seed)
        assert {cell.about for cell in sheet.blanks} == {"values", "order"}


def test_what_cannot_be_an_exercise_is_refused():
    with pytest.raises(ArgumentError, match="an exercise is about values, partials"):
        learn.exercise("x", 1, about=["vlaues"])
    with pytest.raises(ArgumentError, match="give a number for each"):
        learn.exercise("x*y", 1)
    with pytest.raises(ArgumentError, match="there is no cell 'adjoint x'"):
        paper().check({"adjoint x": 1})
    with pytest.raises(ArgumentError, match="not 'pdf'"):
        paper().to("pdf")
    assert paper().check({"values v1": "one"})[0].says == "That is no number."


def test_functions_the_model_does_not_know_are_asked_for_too():
    sheet = learn.exercise(lambda x: ad.erf(x) * x, 0.5, blanks=1)
    cells = {cell.key: cell.right for cell in sheet.cells}
    right = mpmath.diff(lambda x: mpmath.erf(x) * x, 0.5)
    assert cells["adjoints x"] == pytest.approx(float(right), rel=1e-12)
    assert sheet.check({"adjoints x": "7"})[0].says == ""


def test_a_quiz_asks_and_tells():
    sheet = learn.exercise("x*y - x", 2, 5, about=["adjoints"], blanks=1)
    asked, told = [], []
    answers = iter(["1", "1", "2", "3"])

    def ask(question):
        asked.append(question)
        return next(answers)

    marks = sheet.quiz(ask, told.append)
    assert [mark.right for mark in marks] == [True, True, True, False]
    assert asked[0] == "adjoints: v̄2 = ∂v2/∂v2 = "  # in the order of the sweep
    assert asked[-1] == "adjoints: x̄ = v̄1 ∂v1/∂x + v̄2 ∂v2/∂x = "
    assert told[-1] == "3 of 4 right"


def test_the_latex_sheet_and_its_answers():
    sheet = learn.exercise("log(x1) + x1*x2 - sin(x2)", 2, 5, about=ALL, seed=1)
    text, answers = sheet.to("latex"), sheet.to("latex", answers=True)
    assert text.count(r"\underline") == len(sheet.blanks) == answers.count(r"\boldsymbol")
    assert r"\dot{v}_{5}" in text
    assert r"\frac{\partial v_{5}}{\partial v_{4}}" in text
    for each in (text, answers):
        assert each.count("{") == each.count("}")
        assert each.isascii()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX to run")
def test_the_latex_sheet_compiles(tmp_path):
    (tmp_path / "sheet.tex").write_text(paper().to("latex"))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "sheet.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0


def test_the_page_stands_alone_and_does_not_show_the_answers():
    sheet = learn.exercise("x*y - x", 2, 7, about=["adjoints"], blanks=1)
    page = sheet.to("html")
    assert page.count("<input") == len(sheet.blanks)
    assert "http" not in page
    assert " = 6<" not in page
    assert " = 6<" in sheet.to("html", answers=True)


def test_exact_numbers_are_compared_exactly():
    assert same(Fraction(1, 3), Fraction(1, 3))
    assert not same(Fraction(333, 1000), Fraction(1, 3))
    assert same(Fraction(333, 1000), 1 / 3)


def test_the_command_writes_a_sheet(capsys):
    assert main(["exercise", "x*y - x", "x=2", "y=5", "--about", "adjoints", "--answers"]) == 0
    assert "x̄ = v̄1 ∂v1/∂x + v̄2 ∂v2/∂x = 4" in capsys.readouterr().out
    assert main(["exercise", "x*y", "x=2", "y=5", "--wrt", "z"]) == 2
    assert main(["exercise", "x*y", "x=2", "y=5", "--about", "nothing"]) == 2


# Classes. -----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ada.py").write_text(learn.rung(3).text)
    (tmp_path / "bob.py").write_text(learn.bugs.source("sign_of_sub"))
    (tmp_path / "carl").mkdir()
    (tmp_path / "carl" / "engine.py").write_text("raise SystemExit")
    return tmp_path


def test_a_class_is_graded_with_progress(folder):
    seen = []

    def progress(submissions):
        for one in submissions:
            seen.append(one[0])
            yield one

    report = learn.grade_class(folder, "rules", progress=progress)
    assert seen == ["ada", "bob", "carl"]
    assert [one.ok for one in report.submissions] == [True, False, False]
    assert report.counts == [("subtraction_sign", 1)]
    assert "SystemExit" in report.submissions[2].refused
    assert "1 of 3 submissions are right" in str(report)
    rows = list(csv.DictReader(io.StringIO(report.to("csv"))))
    assert [row["subtraction_sign"] for row in rows] == ["0", "1", "0"]
    assert json.loads(report.to("json"))["counts"] == {"subtraction_sign": 1}
    assert "bob" in report.to("html")
    with pytest.raises(ArgumentError, match="not 'junit'"):
        report.to("junit")


def test_no_submission_reads_another_one(tmp_path):
    right = learn.rung(3).text
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "engine.py").write_text(
        f"import sys\nsys.path.append({str(tmp_path / 'anna')!r})\nfrom theirs import *\n"
    )
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "theirs.py").write_text(right)
    (tmp_path / "bob.py").write_text("from cid import *\n")
    (tmp_path / "cid.py").write_text(right)
    report = learn.grade_class(tmp_path, "rules")
    assert {one.name: one.ok for one in report.submissions} == {
        "ann": False, "anna": True, "bob": False, "cid": True
    }  # fmt: skip
    assert report.submissions[-1].report.name == str(tmp_path / "cid.py")


def test_the_engine_of_a_folder_is_found_among_its_files(tmp_path):
    for name in ("__init__.py", "test_engine.py", "engine.py", "about.py"):
        (tmp_path / "ada").mkdir(exist_ok=True)
        text = learn.rung(3).text if name == "engine.py" else ""
        (tmp_path / "ada" / name).write_text(text)
    assert learn.grade_class(tmp_path, "rules").submissions[0].ok


def test_the_command_grades_a_folder(folder, capsys):
    assert main(["grade", str(folder), "--task", "rules"]) == 0
    assert "subtraction_sign" in capsys.readouterr().out
    with pytest.raises(ArgumentError, match="there is no folder"):
        learn.grade_class(folder / "none")


def test_a_quiz_asks_again_for_what_is_no_number():
    sheet = learn.exercise("x*y - x", 2, 5, about=["adjoints"], blanks=1)
    told, answers = [], iter(["abc", "1,0", ""])
    marks = sheet.quiz(lambda question: next(answers), told.append)
    assert [mark.right for mark in marks] == [True]
    assert told[0] == f"{sheet}\n"
    assert "an empty line ends the quiz" in told[1]
    assert told[2].startswith("abc is no number")
    assert not any("right is" in line for line in told)


def test_the_page_says_what_may_be_typed_and_has_the_signs_of_mathematics():
    sheet = learn.exercise("x1*x2 - x1", 2, 5, blanks=1)
    page = sheet.to("html")
    assert "11/2 or 5.5" in page
    assert "x<sub>1</sub> × x<sub>2</sub>" in page
    assert "11/2 or 5.5" not in sheet.to("html", answers=True).split("<script>")[0]


def test_the_page_of_a_class_has_heads_and_a_count(tmp_path):
    (tmp_path / "ada.py").write_text(learn.rung(3).text)
    (tmp_path / "bob.py").write_text("x = 1\n")
    report = learn.grade_class(tmp_path, "rules")
    page = report.to("html")
    assert "<th>submission</th><th>graphs right</th>" in page
    assert "1 of 2 submissions are right." in page
    assert str(tmp_path) not in page
    assert report.submissions[1].refused.startswith("cannot be graded: no engine was found")


@pytest.mark.parametrize(
    ("typed", "shown"), [("0.3", "0.3"), ("1/3", "1/3"), ("-2.5", "−2.5"), ("pi", "3.142")]
)
def test_numbers_on_the_command_line_are_shown_as_typed(typed, shown, capsys):
    from simpleautodiff.cli import main

    assert main(["exercise", "x*x", f"x={typed}", "--answers"]) == 0
    assert f"  x = {shown}\n" in capsys.readouterr().out


def test_the_subject_of_an_exercise_can_be_one_string():
    for text, subjects in (("values", ["values"]), ("values, order", ["values", "order"])):
        one, same = (learn.exercise("x*y", 2, 5, about=about) for about in (text, subjects))
        assert str(one) == str(same)
    with pytest.raises(ArgumentError, match=r"is about values.*got \['value'\]"):
        learn.exercise("x*y", 2, 5, about="value")


def test_a_page_of_exercises_has_minus_signs():
    page = learn.exercise("x*x - y", 2, -5, about="values").to("html", answers=True)
    assert "v<sub>1</sub> − y = 9" in page
    assert "y = −5" in page
