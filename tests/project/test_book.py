"""The book: every example of every page runs, and every part of it is where the others look."""

import doctest
import pathlib
import re
import shlex
import tomllib

import pytest

import pictures
import render
import simpleautodiff as ad
from cells import Page, find_cells, find_pages
from links import find_dead_links
from simpleautodiff import learn
from simpleautodiff.cli.options import parse_options
from simpleautodiff.learn.grading.bank import TASKS

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *find_pages(DOCS)]


def read(page):
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["adjoints.svg", "loop.svg", "sparsity.svg"])
def test_the_figures_of_the_pages_are_what_the_library_draws(name):
    written = (DOCS / "figures" / name).read_text(encoding="utf-8")
    drawn = pictures.draw_figures()[name]
    place = r"pictures\.py:\d+"  # of a source line, which moves
    assert re.sub(place, "", written) == re.sub(place, "", drawn)


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples_of_every_page_run(path):
    page = Page(path)
    for _ in page.run():
        pass
    assert page.failures == []


def test_most_pages_have_examples():
    have = [path for path in PAGES if any(find_cells(path.read_text(encoding="utf-8")))]
    assert len(have) > 60


def test_a_wrong_number_is_a_failure(tmp_path):
    page = Page(tmp_path / "page.md")
    text = "```python\n>>> 1 + 1\n3\n\n```\n\n```{show}\n1 / 0\n```\n\n```{show}\nx = 1\n```\n"
    assert list(page.run(text)) == [None, None]
    assert [word in "".join(page.failures) for word in ("Got", "division", "nothing to show")] == (
        [True] * 3
    )


def test_cells_share_their_names_and_their_source(tmp_path):
    page = Page(tmp_path / "page.md")
    text = "```python\n>>> f = lambda x: x * x\n\n```\n\n  ```{show}\n  f(3)\n  ```\n"
    assert list(page.run(text)) == [9]
    assert page.failures == []


def test_lines_of_examples_are_named_without_a_file(tmp_path):
    page = Page(tmp_path / "page.md")
    text = (
        "```python\n>>> import simpleautodiff as ad\n>>> def f(x):\n...     return x * x\n\n```\n\n"
        "```{show}\nad.memory(f, 2.0)\n```\n"
    )
    (shown,) = page.run(text)
    assert "doctest" in str(shown)
    written = render.render(shown, tmp_path, "page")
    assert "doctest" not in written
    assert "line 2: return x * x" in written


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="here">A</h1><a href="#here">1</a><a href="b.html#there">2</a>'
        '<a href="c.html">3</a>'
        '<a href="https://example.org">4</a><script src="https://example.org/x.js"></script>',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text("<p>B</p>", encoding="utf-8")
    found = "\n".join(find_dead_links(tmp_path))
    assert [word in found for word in ("#there", "c.html", "x.js", "#here", "4")] == (
        [True, True, True, False, False]
    )


def test_every_page_is_in_the_contents():
    listed = {DOCS / "index.md"}
    for path in PAGES[1:]:
        for block in re.findall(r"^```{toctree}\n(.*?)^```$", read(path), re.S | re.M):
            entries = [line for line in block.split() if re.fullmatch(r"[\w/-]+", line)]
            listed |= {path.parent / f"{entry}.md" for entry in entries}
    assert set(PAGES[1:]) - listed == set()


INCLUDED = re.compile(r"^```{include} (\S+)\n(?::relative-docs: (\w+)\n)?```$", re.M)


def test_what_pages_include_links_to_pages_of_the_book():
    included = [
        (DOCS / file, folder) for page in PAGES[1:] for file, folder in INCLUDED.findall(read(page))
    ]
    assert len(included) >= 2
    for path, folder in included:
        links = re.findall(r"\]\((?!http|#)([^)]+)\)", path.read_text(encoding="utf-8"))
        assert [link for link in links if not folder or not link.startswith(f"{folder}/")] == []


def test_every_chapter_is_in_the_contents_and_on_slides():
    chapters = {f"book/{path.stem}" for path in (DOCS / "book").glob("*.md")}
    assert chapters == set(re.findall(r"^book/[\w-]+$", read("index.md"), re.M))
    decks = tomllib.loads((ROOT / "tools" / "book" / "plan.toml").read_text(encoding="utf-8"))
    weeks = [deck["chapters"] for name, deck in decks.items() if name.startswith("week")]
    assert chapters == {chapter for deck in weeks for chapter in deck}
    for chapter in chapters:
        assert read(f"{chapter}.md").count(":::{slide} ") >= 2, chapter
    linked = set(re.findall(r"slides/([\w-]+)\.html", read("teach/slides.md")))
    assert linked == set(decks)


def test_the_commands_and_names_of_the_course_exist():
    pages = [read(path) for path in find_pages(DOCS) if path.parent.name in ("book", "teach")]
    prose = "".join(pages)
    commands = re.findall(r"`(simpleautodiff [^`]*)`", prose)
    assert len(commands) > 10
    for command in commands:
        assert parse_options(shlex.split(command)[1:])
    assert set(re.findall(r"--task (\w+)", prose)) <= set(TASKS)
    assert set(re.findall(r'learn\.bugs\.\w+\("(\w+)"\)', prose)) <= set(learn.bugs.BUGS)
    for rung in re.findall(r"learn\.(?:rung|diff)\((\d)(?:, (\d))?\)", prose):
        assert all(learn.rung(int(number)) for number in rung if number)


def test_every_error_has_a_page_that_raises_it():
    classes = [value for value in vars(ad.errors).values() if isinstance(value, type)]
    ours = [c for c in classes if issubclass(c, (ad.AutodiffError, RuntimeWarning))]
    assert len(ours) >= 23
    for error in ours:
        name = re.sub(r"(?<!^)(?=[A-Z])", "-", error.__name__).lower()
        page = read(f"errors/{name}.md")
        raised = f"simpleautodiff.errors.{error.__name__}: " in page
        assert raised or error is ad.AutodiffError, name
        for base in set(error.__bases__) - {ad.AutodiffError}:
            assert re.search(rf"^It is also: .*`[\w.]*{base.__name__}`", page, re.M), (name, base)
        assert "## The way out" in page


def test_every_public_name_is_in_the_reference():
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    blocks = re.findall(r"\.\. public::\n\n((?:   .+\n)+)", pages)
    parts = [f"simpleautodiff.{part}" for block in blocks for part in block.split()]
    for name, module in ad._MODULE_OF.items():
        assert sum(module.startswith(part) for part in parts) == 1, (name, module)


def test_a_figure_is_dark_where_the_book_is(tmp_path):
    shown = render.render(ad.figure(ad.trace(lambda x: x * x, 2.0), "values"), tmp_path, "figure")
    assert shown.count("<svg") == 1
    assert doctest.testmod(render).failed == 0
    assert "body[data-theme=dark]{" in shown
    assert not re.search(r"@media \(prefers-color-scheme:dark\)\{\s*\.", shown)


def test_pages_and_sheets_are_written_beside_the_book(tmp_path):
    page = ad.explore("x * y", 2, 3, path=tmp_path / "own.html")
    shown = render.render(page, tmp_path / "shown", "chapter") + render.render(
        learn.exercise("x * y", 2, 3), tmp_path / "shown", "sheet"
    )
    written = {path.name for path in (tmp_path / "shown").iterdir()}
    assert {"chapter-own.html", "sheet.html", "sheet-answers.tex"} <= written
    linked = re.findall(r'href="{root}shown/([^"{]+)', shown)
    assert set(linked) == written
