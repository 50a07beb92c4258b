"""One name, one meaning: modules, classes and constants of the package."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import simpleautodiff

PACKAGE = Path(simpleautodiff.__file__).parent
# The rungs of the ladder and its broken engines are programs of their own, which learners read one
# at a time; `autograd` has the names of the package that it stands for.
APART = ("learn/ladder", "learn/bugs", "autograd")
MODULES = {
    path.relative_to(PACKAGE).as_posix(): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not path.relative_to(PACKAGE).as_posix().startswith(APART)
}


def test_no_two_modules_have_one_name():
    stems = defaultdict(list)
    for name, path in MODULES.items():
        if not path.stem.startswith("__"):
            stems[path.stem].append(name)
    assert not [names for names in stems.values() if len(names) > 1]


def find_definitions(kind):
    """Return the source of each class or constant by its name and module."""
    found = defaultdict(dict)
    for module, path in MODULES.items():
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            for name in find_defined(statement, kind):
                found[name][module] = ast.unparse(statement)
    return found


def find_defined(statement, kind):
    """Return the names of the class, or of the constants, that a statement defines."""
    if kind == "classes":
        return [statement.name] if isinstance(statement, ast.ClassDef) else []
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if name.isupper() and len(name) > 1]


@pytest.mark.parametrize("kind", ["classes", "constants"])
def test_no_name_has_two_meanings(kind):
    found = find_definitions(kind)
    assert len(found) > 100
    twice = {
        name: sorted(modules)
        for name, modules in found.items()
        if not name.startswith("_") and len(set(modules.values())) > 1
    }
    assert not twice
