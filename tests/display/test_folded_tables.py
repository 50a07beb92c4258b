"""Tables of long programs: what repeats is folded, what is shown stays as it was."""

import json
import re
import sys

import pytest

import simpleautodiff as ad
from simpleautodiff.cli import main
from simpleautodiff.display.notation.line_breaks import count_columns
from simpleautodiff.display.tables.folded_rows import MAX_ROWS
from simpleautodiff.display.tables.formats import write_text


def halve(n):
    def f(x):
        for _ in range(n):
            x = ad.sin(x) * 0.5
        return x

    return f


def scale(weights, x):
    for weight in weights:
        x = x * weight
    return x


TABLES = {
    "values": lambda t, **unfold: t.values(**unfold),
    "tangents": lambda t, **unfold: t.tangents("x", **unfold),
    "adjoints": lambda t, **unfold: t.adjoints(**unfold),
}


@pytest.mark.parametrize("which", TABLES)
def test_a_loop_is_its_first_and_its_last_pass(which):
    trace = ad.trace(halve(1000), 0.5)
    table, whole = TABLES[which](trace), TABLES[which](trace, unfold=True)
    assert len(table.rows) <= MAX_ROWS
    assert len(whole.rows) >= 2000
    texts = [row.cells for row in whole.rows]
    kept = [row for row in table.rows if not row.folded]
    assert all(any(r.name == row.name for r in whole.rows) for row in kept)
    (gap,) = [row.folded for row in table.rows if row.folded]
    hidden = int(re.match(r"([\d,]+) rows folded: ", gap)[1].replace(",", ""))
    assert hidden + len(kept) == len(texts)
    assert gap.endswith("(x = ad.sin(x) * 0.5, ×998)")
    assert dict(table) == dict(whole)


def test_what_is_shown_of_a_folded_table_is_as_in_the_whole_one():
    trace = ad.trace(halve(100), 0.5)
    for which in TABLES.values():
        whole = [[cell.text for cell in row.cells] for row in which(trace, unfold=True).rows]
        for row in which(trace).rows:
            assert row.folded or [cell.text for cell in row.cells] in whole


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_tables_side_by_side_are_folded_too(mode):
    trace = ad.trace(halve(1000), 0.5)
    assert len(str(trace.side_by_side(mode)).splitlines()) < 15
    assert len(str(trace.side_by_side(mode, unfold=True)).splitlines()) > 2000
    many = ad.trace(scale, [1.5] * 300, 2.0)
    folded = str(many.side_by_side(mode))
    assert "rows folded: v₋" in folded
    assert "v₀" in folded


def test_a_short_program_is_not_folded():
    trace = ad.trace(halve((MAX_ROWS - 1) // 2), 0.5)
    assert str(trace.values()) == str(trace.values(unfold=True))


def test_many_inputs_are_folded_and_sums_of_adjoints_stay_true():
    weights = [1.0 + k / 1000 for k in range(300)]
    trace = ad.trace(scale, weights, 2.0)
    table = trace.adjoints()
    assert len(table.rows) <= 3 * MAX_ROWS
    exact = ad.grad(scale, 1)(weights, 2.0)
    assert table["x"] == pytest.approx(exact, rel=1e-12)
    assert len([row for row in trace.values().sections[0] if row.folded]) == 1


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "rich", "json"])
def test_every_format_says_what_is_folded(format):
    pytest.importorskip("rich")
    written = ad.trace(halve(1000), 0.5).values().to(format)
    assert "1,995 rows folded" in re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;]*m|│", "", written))
    assert len(written) < 10_000
    if format == "json":
        assert sum("folded" in row for row in json.loads(written)["rows"]) == 1


@pytest.mark.parametrize("width", [30, 60])
def test_the_source_of_folded_rows_is_not_broken_as_an_equation(width):
    def newton(a):
        y = a
        for _ in range(1000):
            y = 0.5 * (y + a / y)
        return y

    lines = write_text(ad.trace(newton, 2.0).tangents("a"), width).splitlines()
    assert max(map(count_columns, lines)) <= width
    start = next(i for i, line in enumerate(lines) if line.startswith("⋮"))
    said = " ".join(line.strip() for line in lines[start : start + 3])
    assert "rows folded: v̇4 … v̇2996 (y = 0.5 * (y + a / y), ×998)" in said
    assert not any(line.lstrip().startswith("= 0.5 * (") for line in lines)


def test_the_command_line_folds_and_unfolds(tmp_path, capsys):
    model = tmp_path / "model.py"
    model.write_text(
        "import math\nfrom simpleautodiff import sin\n"
        "def f(x):\n    for _ in range(1000):\n        x = sin(x) * 0.5\n    return x\n"
    )
    target = f"{model}:f"
    assert main(["explain", target, "x=0.5"]) == 0
    folded = capsys.readouterr().out
    assert len(folded.splitlines()) < 60
    assert "--unfold" in folded
    assert main(["explain", target, "x=0.5", "--unfold"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 6000
    assert main(["table", target, "x=0.5"]) == 0
    assert len(capsys.readouterr().out.splitlines()) < 15
    assert main(["table", target, "x=0.5", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2002


@pytest.mark.slow
def test_the_work_grows_with_the_length_of_the_program():
    def count_lines(n):
        trace, count = ad.trace(halve(n), 0.5), 0

        def step(frame, event, arg):
            nonlocal count
            count += event == "line"
            return step

        before = sys.gettrace()
        sys.settrace(step)
        try:
            str(trace.adjoints()), str(trace.values()), str(trace.tangents())
        finally:
            sys.settrace(before)
        return count

    small, large = count_lines(500), count_lines(2000)
    assert large < 4 * small * 1.5  # a quadratic one would run 4 times as many again
