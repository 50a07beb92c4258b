"""The progress bar: what is going on, how many rows of how many, and what is not known."""

import io
import re
import sys
import time

import pytest

import simpleautodiff as ad
from simpleautodiff.cli import progress as bars, rendering
from simpleautodiff.cli.problem import read_problem
from simpleautodiff.cli.progress import Progress, Share
from simpleautodiff.display.tables.watched_rows import watch_rows

FORMULA = "log(x1) + x1*x2 - sin(x2)", ["x1=2", "x2=5"]


def watched(table, format="text"):
    """Return what a watcher sees while a table is made and written: words, and their totals."""
    seen = []

    def note(items, what):
        seen.append((what, len(items)))
        return items

    with watch_rows(note):
        table().to(format)
    return seen


def test_a_share_is_a_count_a_percentage_and_a_bar():
    drawn = Share("values", 80_000, 20_000).draw()
    assert drawn.split() == ["values", "█" * 5, "20,000/80,000", "25%"]
    assert Share("values", 3, 3).draw().split()[-2:] == ["3/3", "100%"]


@pytest.mark.parametrize("total", [0, 1])
def test_without_a_total_no_share_is_claimed(total):
    assert Share("drawing", total).draw() == "drawing"
    assert Progress("drawing", total).line(2.0) == "drawing  2 s"


def test_each_table_tells_how_many_rows_it_has():
    program = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2.0, 5.0)
    assert watched(program.values) == [("values", 5), ("writing", 8)]
    assert watched(program.tangents) == [("forward sweep", 5), ("writing", 8)]
    accumulations = len(program.accumulations())
    assert watched(program.adjoints)[0] == ("reverse sweep", accumulations)


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "json"])
def test_every_format_tells_how_many_rows_it_writes(format):
    program = ad.trace(lambda x: ad.sin(x) * x, 2.0)
    assert watched(program.values, format) == [("values", 2), ("writing", 4)]


def test_nothing_is_changed_by_watching():
    program = ad.trace(lambda x: ad.sin(x) * x, 2.0)
    with watch_rows(Progress("table").go_through):
        seen = program.adjoints().to("html")
    assert seen == program.adjoints().to("html")


@pytest.mark.parametrize(("mode", "total"), [(None, 5), ("forward", 4), ("reverse", 4)])
@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "json"])
def test_an_explanation_says_which_part_of_how_many_it_is_at(format, mode, total):
    shown = rendering.RecordedProblem(read_problem(*FORMULA), "x1", mode)
    progress, lines = Progress("explaining", rendering.count_parts(shown)), []

    def follow(items, what):
        for item in progress.go_through(items, what):
            lines.append(progress.line(0.0))
            yield item

    with watch_rows(follow):
        rendering.explanation(shown, format, progress.step)
    places = [re.match(r"explaining (\d)/(\d): (\w+)", line).groups() for line in lines]
    assert places == sorted(places, key=lambda place: place[0])
    assert {int(of) for _, of, _ in places} == {total}
    assert places[0][0] == "1"
    assert places[-1][0] == str(total)
    assert places[-1][2] == "words"
    assert progress.part is None


def test_operations_are_counted_also_after_the_function_has_run():
    progress = Progress("recording")

    def f(x):
        y = x
        for _ in range(10):
            y = y * x
        return y

    ad.trace(progress.watch(f), 2.0)
    assert progress.line(3.0) == "recording  10 operations  3 s"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("kind", "drawn"), [("xterm", True), ("dumb", False)])
def test_a_bar_is_drawn_where_a_line_can_be_redrawn_and_is_no_wider(monkeypatch, kind, drawn):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(bars, "SILENT_SECONDS", 0.0)
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", "40")
    with Progress("explaining", 5) as progress:
        for _ in progress.go_through(range(2), "forward sweep"):
            until = time.monotonic() + 5
            while drawn and "forward sweep" not in screen.getvalue() and time.monotonic() < until:
                time.sleep(0.01)
    lines = screen.getvalue().split("\r\x1b[K")
    assert ("explaining 1/5: forward sweep" in screen.getvalue()) is drawn
    assert max(map(len, lines)) < 40
    assert lines[-1] == ""  # nothing is left of it
