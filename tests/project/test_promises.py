"""Every promise of the README, its paths and the conventions points at the test that holds it.

A pointer is a comment below the paragraph, the list item or the table, which a reader does not see:
`<!-- tests/core/test_paper.py::test_local_derivatives -->`. What no test can hold, such as a time,
points at the file that measures it.
"""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = {  # and how many promises they have at least
    "README.md": 10,
    "docs/first-steps.md": 9,
    "docs/use.md": 16,
    "docs/fast.md": 4,
    "docs/conventions.md": 50,
}
POINTER = re.compile(r"<!-- ([\w./-]+)(?:::(\w+))? -->")
NO_PROMISES = ("## More",)  # sections of links


def blocks(page):
    """Give paragraphs, list items and tables, each with the pointers below it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    for section in re.split(r"^(?=#)", text, flags=re.M):
        if section.startswith(NO_PROMISES):
            continue
        body = re.sub(r"^#.*$|^!\[.*$", "", section, flags=re.M)
        # a pointer below a table stands apart from it
        body = re.sub(r"\n\n(?=<!-- )", "\n", body)
        for block in re.split(r"\n\s*\n|\n(?=- )", body):
            if block.strip():
                yield block.strip()


@pytest.mark.parametrize("page", PAGES)
def test_every_promise_points_at_what_holds_it(page):
    found = list(blocks(page))
    assert len(found) >= PAGES[page]
    assert [block for block in found if not POINTER.search(block)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_pointer_leads_to_a_test(page):
    pointers = POINTER.findall((ROOT / page).read_text(encoding="utf-8"))
    assert pointers
    for path, name in pointers:
        assert (ROOT / path).is_file(), path
        assert bool(name) == path.startswith("tests/"), path
        if name:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert name in tests, f"{path} has no {name}"


def test_comments_are_pointers():
    """A pointer with a mistake in it is not taken for some other comment."""
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert len(re.findall("<!--", text)) == len(POINTER.findall(text)), page
