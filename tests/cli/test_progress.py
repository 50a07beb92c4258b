"""The progress bar: what is going on, how many rows of how many, and what is not known."""

import gzip
import inspect
import io
import os
import re
import sys

import pytest

import simpleautodiff as ad
from simpleautodiff.cli import progress as bars, rendering
from simpleautodiff.cli.main import main
from simpleautodiff.cli.problem import read_problem
from simpleautodiff.cli.progress import Progress, Share, watch_progress
from simpleautodiff.cli.site import build
from simpleautodiff.display.figures.paper_gallery import gallery
from simpleautodiff.program.watched_work import go_through, watch_work
from waiting import comes_true

FORMULA = "log(x1) + x1*x2 - sin(x2)", ["x1=2", "x2=5"]


def watch(work):
    """Return what a watcher sees of some work: words, and their totals."""
    seen = []

    def note(items, what):
        seen.append((what, len(items)))
        return items

    with watch_work(note):
        work()
    return seen


def watched(table, format="text"):
    """Return what a watcher sees while a table is made and written."""
    return watch(lambda: table().to(format))


def test_a_share_is_a_count_a_percentage_and_a_bar():
    drawn = Share("values", 80_000, 20_000).draw()
    assert drawn.split() == ["values", "█" * 5, "20,000/80,000", "25%"]
    assert Share("values", 3, 3).draw().split()[-2:] == ["3/3", "100%"]


@pytest.mark.parametrize("total", [0, 1])
def test_without_a_total_no_share_is_claimed(total):
    assert Share("drawing", total).draw() == "drawing"
    assert Progress("drawing", total).line(2.0) == "drawing  2 s"


def test_where_there_is_little_room_the_bar_is_shorter_and_the_share_stays():
    progress = Progress("explaining", 6)
    progress.part = Share("forward sweep", 120_000, 60_000)
    narrow = progress.line(13.0, 59)
    assert len(narrow) == 59
    assert narrow.endswith("60,000/120,000  50%  13 s")
    assert narrow.count("█") < progress.line(13.0, 66).count("█") < 10
    assert progress.line(13.0).count("█") == 10


def test_each_table_tells_how_many_rows_it_has():
    program = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2.0, 5.0)
    assert watched(program.values) == [("values", 5), ("writing", 8)]
    rows = [("tangents", 5), ("writing", 8)]
    assert watched(program.tangents) == [("forward sweep", len(program)), *rows]
    accumulations = len(program.accumulations())
    sweep = [("reverse sweep", len(program)), ("adjoints", accumulations)]
    assert watched(program.adjoints)[:2] == sweep


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "json"])
def test_every_format_tells_how_many_rows_it_writes(format):
    program = ad.trace(lambda x: ad.sin(x) * x, 2.0)
    assert watched(program.values, format) == [("values", 2), ("writing", 4)]


def test_nothing_is_changed_by_watching():
    program = ad.trace(lambda x: ad.sin(x) * x, 2.0)
    with watch_work(Progress("table").go_through):
        seen = program.adjoints().to("html")
    assert seen == program.adjoints().to("html")


@pytest.mark.parametrize(("mode", "total"), [(None, 5), ("forward", 4), ("reverse", 4)])
@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "json"])
def test_an_explanation_says_which_part_of_how_many_it_is_at(format, mode, total):
    shown = rendering.RecordedProblem(read_problem(*FORMULA), "x1", mode)
    progress, lines = Progress("explaining", rendering.count_parts(shown.mode)), []

    def follow(items, what):
        for item in progress.go_through(items, what):
            lines.extend([progress.line(0.0)] if progress.part else [])
            yield item

    with watch_work(follow):
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
    progress = Progress("explaining", 6)
    ad.trace(progress.watch(f, "recording"), 2.0)
    assert progress.line(3.0) == "explaining 1/6: 10 operations recorded  3 s"


def test_a_recording_is_one_part_of_so_many_and_the_parts_after_it_have_shares():
    progress, lines = Progress("table", 2), []

    def f(x):
        y = ad.sin(x) * x
        lines.append(progress.line(1.0))
        return y

    with watch_work(progress.go_through):
        program = ad.trace(progress.watch(f, "recording"), 2.0)
        progress.step()
        lines += [progress.line(2.0) for _ in go_through(program.nodes, "values")]
    assert lines[0] == "table 1/2: recording  2 operations so far  1 s"
    assert [line.split()[-3] for line in lines[1:]] == ["0%", "33%", "66%"]
    assert all(line.startswith("table 2/2: values") for line in lines[1:])


LOOPS = [  # what is repeated, and whether its length can be read
    ("for i in range(8):", True),
    ("for i in range(1, 2 * n + 1):", True),
    ("for i in range(n + n, 0, -1):", True),
    ("for i in range(len(rows)):", True),
    ("for i in range(table.shape[0]):", True),
    ("for i in range(table.size):", True),
    ("for i, row in enumerate(rows):", True),
    ("for row in rows:", True),
    ("for one in ones:", False),  # its items are the same object, which tells no place
    ("for row in iter(rows):", False),
    ("for i in range(int(8.0)):", False),
    ("for n in range(2 * n):", False),
    ("for n in range(2 * n):\n        n = n + 1", False),  # not the number of the pass any more
    ("while next(count) < 8:", False),
]


@pytest.mark.parametrize(("head", "known"), LOOPS)
def test_a_recording_has_the_share_of_its_loop_if_the_length_can_be_read(tmp_path, head, known):
    path = tmp_path / "looped.py"
    path.write_text(
        "from itertools import count as counting\n"
        "import numpy as np\n"
        "rows = [[float(i)] for i in range(8)]\n"
        "ones, table = [1] * 8, np.zeros(8)\n\n"
        "def f(x, look, n=4):\n"
        "    count = counting()\n"
        f"    {head}\n"
        "        x = x * 1.5\n"
        "        look()\n"
        "    return x\n"
    )
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    progress, lines = Progress("explaining", 6), []
    watched = progress.watch(
        lambda x: names["f"](x, lambda: lines.append(progress.line(1.0))), "recording"
    )
    ad.trace(watched, 2.0)
    assert len(lines) == 8
    loop = "recording, passes of line 8"
    expected = [(f"{loop}", f"{i}/8  {100 * i // 8}%") for i in range(8)]
    if not known:
        expected = [("recording  ", f"  {i + 1} operations so far") for i in range(8)]
    for line, (start, share) in zip(lines, expected, strict=True):
        assert line.startswith(f"explaining 1/6: {start}")
        assert line.endswith(f"{share}  1 s")


def test_of_loops_in_loops_that_with_most_passes_is_shown():
    progress, lines = Progress("recording"), []

    def step(x):
        for i in range(20):
            x = x + 1.0
            if i == 5:
                lines.append(progress.line(1.0))
        return x

    def f(x):
        for _ in range(3):
            x = step(x)
        return x

    ad.trace(progress.watch(f), 2.0)
    assert [line.split()[-4:-2] for line in lines] == [["5/20", "25%"]] * 3


def test_the_words_of_one_step_have_the_share_of_what_they_need():
    lines = []
    with watch_progress("explaining", 5) as progress:
        for _ in go_through(["v5"], "words"):
            lines += [progress.line(1.0) for _ in go_through(range(4), "reverse sweep")]
    assert [line.split()[-3] for line in lines] == ["0%", "25%", "50%", "75%"]
    assert all(line.startswith("explaining 1/5: reverse sweep") for line in lines)


def loop(x):
    for _ in range(100):
        x = ad.sin(x) * 1.5
    return x


@pytest.mark.parametrize("show", ["values", "adjoints"])
def test_a_drawing_tells_how_much_is_folded(show):
    program = ad.trace(loop, 0.5)
    seen = watch(lambda: ad.figure(program, show).svg())
    assert [item for item in seen if item[1] > 1 and "sweep" not in item[0]] == [
        ("folding", 200),
        ("arrows", 200),
    ]


def test_a_program_is_folded_once_for_all_tables_and_figures():
    program = ad.trace(loop, 0.5)
    shown = [program.values, program.tangents, program.adjoints, program.figure]
    seen = watch(lambda: [show() for show in shown] + [ad.explore(program, path=os.devnull)])
    assert [what for what, _ in seen].count("folding") == 1


def test_a_renamed_program_is_folded_anew():
    program = ad.trace(loop, 0.5)
    other = program.renamed({node: f"u{i}" for i, node in enumerate(program.nodes)})
    names = [ad.fold(one).name(ad.fold(one).boxes[1]) for one in (program, other)]
    assert names == ["loop@v1", "loop@u1"]


def test_recording_tells_how_many_steps_are_numbered():
    seen = watch(lambda: ad.trace(loop, 0.5))
    assert seen == [("source lines", 201), ("numbering", 201)]
    seen = watch(lambda: ad.trace(loop, 0.5, numbering="paper"))
    assert seen == [("source lines", 201), ("order", 201), ("numbering", 201)]


def test_source_code_tells_how_many_steps_and_changes_it_writes():
    seen = watch(lambda: ad.source(ad.grad(loop), 0.5))
    steps = [("order", 201), ("values", 200)]
    assert seen == [*steps, ("sweep", 201)]  # the seed, and one for each step


def test_a_page_tells_how_many_steps_and_accumulations_it_has(tmp_path):
    seen = dict(watch(lambda: ad.explore(loop, 0.5, path=tmp_path / "page.html")))
    assert seen["steps"] == seen["rules"] == 201
    assert seen["forward sweep"] == 201
    assert seen["reverse sweep"] == 200
    assert seen["views"] > 1


def test_a_check_tells_how_many_derivatives_it_compares():
    seen = watch(lambda: ad.check_grad(lambda x, y: [x * y, x + y, ad.sin(x)], 2.0, 3.0))
    assert ("derivatives", 2 * 3) in seen  # inputs × results


def test_the_paper_tells_how_many_figures_and_listings_it_has(tmp_path):
    seen = watch(lambda: gallery(tmp_path))
    construction = len(list(tmp_path.glob("figure-construction-*.svg")))
    assert ("figures", 6 + 1 + construction) in seen
    assert ("listings", 4) in seen


def test_the_site_tells_how_much_it_compresses_and_how_many_examples_it_runs():
    seen = watch(lambda: build._zip([("a", b"1"), ("b", b"2")], "compressing"))
    assert seen == [("compressing", 2)]
    wasm = bytes(range(256)) * 4096
    seen = watch(lambda: build._compress(wasm))
    assert seen == [("compressing Python", len(wasm) // build.COMPRESSED_BYTES)]
    assert gzip.decompress(build._compress(wasm)) == wasm
    assert ("examples", len(build.read_examples())) in watch(lambda: build._page(1, 1))


def test_of_parts_inside_of_parts_the_outermost_is_shown():
    lines = []
    with watch_progress("the site") as progress:
        for _ in go_through(range(4), "examples"):
            for _ in go_through(range(7), "values"):
                pass
            lines.append(progress.line(1.0))
    assert [line.split()[-3] for line in lines] == ["0%", "25%", "50%", "75%"]
    assert all(line.startswith("the site: examples") for line in lines)


COMMANDS = [
    ("graph", "folding"),
    ("source", "values"),
    ("check", "derivatives"),
    ("table", "folding"),
    ("explain", "folding"),
    ("explore --output page.html", "views"),
]


@pytest.mark.parametrize(("command", "part"), COMMANDS)
def test_every_command_that_may_take_long_shows_its_share(command, part, tmp_path, monkeypatch):
    seen = []

    def note(self, items, what):
        seen.append(what)
        return items

    monkeypatch.setattr(Progress, "go_through", note)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(inspect.getsource(loop).replace("ad.sin", "sin"))
    text = (tmp_path / "model.py").read_text()
    (tmp_path / "model.py").write_text(f"from simpleautodiff import sin\n\n{text}")
    name, *rest = command.split()
    assert main([name, "model.py:loop", "x=0.5", *rest]) == 0
    assert part in seen


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
            assert not drawn or comes_true(lambda: "forward sweep" in screen.getvalue())
    lines = screen.getvalue().split("\r\x1b[K")
    assert ("explaining 1/5: forward sweep" in screen.getvalue()) is drawn
    assert max(map(len, lines)) < 40
    assert lines[-1] == ""  # nothing is left of it
