"""The seams of the compiled tier: who imports whom, and that a name has one meaning."""

import ast
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import simpleautodiff.compiled

ROOT = Path(simpleautodiff.compiled.__file__).parent
BASE = "simpleautodiff.compiled"
TARGETS = ("llvm", "interpreter", "python", "c")
# The interpreter is itself written in LLVM's language.
ALLOWED = {("interpreter", "llvm")}


def name_of(path):
    parts = [BASE, *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}


def only_for_types(tree):
    """Return what stands below `if TYPE_CHECKING`."""
    blocks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ]
    return {id(node) for block in blocks for node in ast.walk(block)}


def imports(tree):
    """Return the modules of the tier that a module imports, inside of functions too."""
    left_out = only_for_types(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in left_out and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found = inner if inner in MODULES else node.module
                if found in MODULES:
                    yield found


def target_of(module):
    """Return the folder of a target that a module is in, or nothing."""
    parts = module.removeprefix(f"{BASE}.backends.").split(".")
    inside = module.startswith(f"{BASE}.backends.") and parts[0] in TARGETS
    return parts[0] if inside else ""


def test_nothing_imports_itself_in_a_circle():
    graph = {name: set(imports(tree)) - {name} for name, tree in MODULES.items()}
    assert list(TopologicalSorter(graph).static_order())


def test_targets_are_named_in_one_place():
    """Outside of its folder, a target is known to `targets.py` and `exporters.py` alone."""
    named = {f"{BASE}.backends.targets", f"{BASE}.backends.exporters"}
    for name, tree in MODULES.items():
        for other in imports(tree):
            pair = target_of(name), target_of(other)
            fits = not pair[1] or pair[0] == pair[1] or pair in ALLOWED or name in named
            assert fits, f"{name} imports {other}"


def test_no_two_classes_have_one_name():
    names = [node.name for tree in MODULES.values() for node in ast.walk(tree)
             if isinstance(node, ast.ClassDef)]  # fmt: skip
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_modules_are_short():
    long = {name for name in MODULES if name != f"{BASE}.scalar.operations"
            and len((path_of(name)).read_text().splitlines()) > 400}  # fmt: skip
    assert not long


def path_of(name):
    path = ROOT.joinpath(*name.removeprefix(BASE).strip(".").split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
