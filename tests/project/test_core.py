"""The core stays small enough to be read in one sitting, and is what a debugger shows."""

import ast
import io
import linecache
import pathlib
import sys
import tokenize

import simpleautodiff as ad

CORE = pathlib.Path(__file__).parents[2] / "src" / "simpleautodiff" / "core"
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def lines_of_code(path):
    """Count lines, without comments, blank lines and docstrings."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    used = {
        line
        for token in tokens
        if token.type not in BLANK and token.type != tokenize.ENDMARKER
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(used - docstrings)


def test_the_core_has_at_most_800_lines():
    assert 0 < sum(map(lines_of_code, CORE.glob("*.py"))) <= 800


def test_a_node_never_changes_its_class():
    x = ad.Node(2)
    assert type(x) is type(ad.mul(x, x)) is ad.Node


def test_a_debugger_shows_the_lines_of_a_wrapping_function():
    code = ad.mul.__code__
    lines = linecache.getlines(code.co_filename)
    linecache.checkcache()
    assert lines
    assert lines == linecache.getlines(code.co_filename)
    assert lines[code.co_firstlineno - 1].lstrip().startswith("def wrapping(")


def test_a_traceback_points_at_the_lines_that_run():
    class Refusing:
        def __mul__(self, other):
            raise KeyError("refused")

        __add__ = __sub__ = __mul__

    try:
        ad.mul(ad.Node(Refusing()), 2.0)
    except KeyError:
        step = sys.exc_info()[2]
        shown = []
        while step is not None:
            code = step.tb_frame.f_code
            shown.append(linecache.getline(code.co_filename, step.tb_lineno).strip())
            step = step.tb_next
    assert all(shown)
    assert shown[-1] == 'raise KeyError("refused")'
