"""What `./mutants` changes in a module, and what it leaves alone."""

import ast
import importlib
import importlib.util
import pathlib
import re
import sys
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def mutations():
    path = ROOT / "tools" / "mutants" / "mutations.py"
    spec = importlib.util.spec_from_file_location("mutations", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutations"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutations"]


@pytest.fixture
def resident(mutations, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools" / "mutants")
    yield importlib.import_module("resident")
    for name in ("resident", "trial", "covering"):
        del sys.modules[name]


def changes(mutations, tmp_path, source, scaled=False):
    path = tmp_path / "module.py"
    path.write_text(source)
    found = mutations.find_mutants(path, scaled=scaled)
    for mutant in found:  # each is a module that differs from the original
        tree = mutations.mutate(source, mutant.number, scaled=scaled)
        compile(tree, "module.py", "exec")
        assert ast.dump(tree) != ast.dump(ast.parse(source))
    return {(mutant.before, mutant.after) for mutant in found}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y = a - b", {("a - b", "a + b"), ("a - b", "b - a")}),
        ("y = a * b", {("a * b", "a / b")}),
        ("y = -a", {("-a", "a")}),
        ("y = f(a, b)", {("f(a, b)", "f(b, a)")}),
        ("y = f(a, 1)", {("1", "2")}),
        ("y = a[1:]", {("1", "2")}),
        ("y = a[-1]", {("-1", "-2")}),
        ("y = a < b", {("a < b", "a <= b")}),
        ("y = a >= 0.5", {("a >= 0.5", "a > 0.5"), ("0.5", "1.0")}),
        ("y = a is None", {("a is None", "a is not None")}),
        ("y = a and b", {("a and b", "a or b")}),
        ("y = b if a else c", {("a", "not a")}),
        ("y = b if not a else c", {("not a", "a")}),
        ("while a: pass", set()),
    ],
)
def test_one_thing_is_changed_at_a_time(mutations, tmp_path, line, expected):
    assert changes(mutations, tmp_path, line) == expected


def test_formulas_are_multiplied_by_almost_one(mutations, tmp_path):
    found = changes(mutations, tmp_path, "f = lambda x: 2 / x", scaled=True)
    assert found == {
        ("2 / x", "2 * x"),
        ("2 / x", "x / 2"),
        ("2 / x", "2 / x * 1.000000001"),
        ("2", "2.000000002"),
    }


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring."""',
        '__all__ = ["a", "b"]',
        "x: dict[int, str]",
        "def f(a: int | None = None) -> tuple[int, int]: ...",
        'def f(a):\n    raise ValueError(f"{a + 1} is wrong")',
        "if TYPE_CHECKING:\n    x = 1",
        "Number = int | float",
        'f(text="a" + b, reason=c + d)',
        'y = "a" + b',
    ],
)
def test_what_is_no_number_is_left_alone(mutations, tmp_path, text):
    assert changes(mutations, tmp_path, text) == set()


def test_lines_that_run_where_a_change_does(mutations, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "LIMIT = 5\n"  # evaluated at import: its uses tell
        "def f(x, y=3):\n"  # a default is part of the function
        "    z = x\n"
        "    return z - LIMIT\n"
    )
    found = {m.before: m.scopes for m in mutations.find_mutants(path, scaled=False)}
    assert found == {
        "5": ((4, 4),),
        "3": ((3, 4),),
        "z - LIMIT": ((4, 4), (4, 4), (3, 4)),
    }


MODULE = """
LIMIT = 5
class Box:
    size = 6
    def shift(self, x, by=3):
        return [z - LIMIT for z in x]
def make(y):
    return lambda x: x < y
double = lambda x: x * 2
below = make(7)
"""


def test_changes_of_functions_that_exist(mutations, resident, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    found = mutations.find_mutants(path, scaled=False)
    inside = {
        mutant.before
        for mutant in found
        if resident.changes_functions_alone(
            path, mutations.mutate(MODULE, mutant.number, scaled=False)
        )
    }
    assert {mutant.before for mutant in found} - inside == {"5", "6", "3", "7"}
    names = {}
    for before, f, x, value, changed in (
        ("z - LIMIT", lambda x: names["Box"]().shift(x), [7], [2], [-2]),
        ("x < y", lambda x: names["below"](x), 7, False, True),
        ("2", lambda x: names["double"](x), 4, 8, 12),
    ):
        exec(compile(MODULE, str(path), "exec"), names)
        home = resident.Residence(lambda home: None)
        home.functions = {
            str(path): [names["Box"].shift, *map(names.get, ("make", "double", "below"))]
        }
        assert f(x) == value
        mutant = [mutant for mutant in found if mutant.before == before][-1]
        home._put(path, mutations.mutate(MODULE, mutant.number, scaled=False))
        assert f(x) == changed


def test_changes_that_read_the_same_are_told_apart(mutations, tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f(x):\n    return (x < 1) + (x < 1)\n")
    titles = [mutant.title for mutant in mutations.find_mutants(path, scaled=False)]
    assert len(set(titles)) == len(titles)
    assert "f: x < 1 -> x <= 1 (2)" in titles


def test_what_is_explained_is_a_mutant(mutations):
    explained = tomllib.loads((ROOT / "tools" / "mutants" / "equivalent.toml").read_text())
    for entry in explained["mutant"]:
        scaled = entry["module"].partition("/")[0] in ("rules", "compiled", "arrays")
        titles = {
            mutant.title
            for path in (ROOT / "src" / "simpleautodiff").glob(entry["module"])
            for mutant in mutations.find_mutants(path, scaled=scaled)
        }
        assert titles.issuperset(entry.get("changes", ())), entry["module"]
        assert "changes" in entry or any(re.fullmatch(entry["pattern"], x) for x in titles)
        assert entry["why"]
