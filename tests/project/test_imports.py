"""What imports what: no cycles, also by imports inside functions, and no import by a string."""

import ast
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).parents[2] / "src"
FILES = sorted(SOURCE.rglob("*.py"))
OURS = "simpleautodiff"


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


class Imports(ast.NodeVisitor):
    """The modules of ours that a module imports, anywhere but for checkers of types alone."""

    def __init__(self):
        self.found = set()
        self.by_string = []

    def visit_If(self, node):
        if "TYPE_CHECKING" in ast.unparse(node.test) and "not" not in ast.unparse(node.test):
            return
        self.generic_visit(node)

    def visit_Import(self, node):
        self.found |= {alias.name for alias in node.names if alias.name in MODULES}

    def visit_ImportFrom(self, node):
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            self.found |= {name for name in (inner if inner in MODULES else node.module,)}

    def visit_Call(self, node):
        called = ast.unparse(node.func).rpartition(".")[2]
        ours = OURS in ast.unparse(node) or "__name__" in ast.unparse(node)
        if called in ("import_module", "__import__") and ours:
            self.by_string.append(ast.unparse(node))
        self.generic_visit(node)


def imports_of(path):
    imports = Imports()
    imports.visit(ast.parse(path.read_text(encoding="utf-8")))
    return imports


GRAPH = {name: imports_of(path).found & MODULES.keys() - {name} for name, path in MODULES.items()}


def cycles(graph):
    """Return the groups of modules that import each other, by Tarjan's algorithm."""
    index, low, stack, groups = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            group = []
            while not group or group[-1] != v:
                group.append(stack.pop())
            groups.append(sorted(group))

    for v in graph:
        if v not in index:
            visit(v)
    return [group for group in groups if len(group) > 1]


def test_no_module_imports_itself_through_others():
    assert cycles(GRAPH) == []


def test_cycles_are_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


# The package itself loads public names when they are used, by the import statements in its source.
@pytest.mark.parametrize("name", sorted(MODULES.keys() - {OURS}))
def test_no_module_of_ours_is_imported_by_a_string(name):
    by_string = imports_of(MODULES[name]).by_string
    assert by_string == [], f"{name} imports by string: {by_string}"


def test_the_package_has_few_entries_at_the_top():
    entries = [path for path in (SOURCE / OURS).iterdir() if path.suffix == ".py" or path.is_dir()]
    assert len([path for path in entries if path.name != "__pycache__"]) <= 16
