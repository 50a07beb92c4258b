"""What is exported: the recorded paths of a function, and the names of its arguments."""

from __future__ import annotations

import keyword
import re
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.backends.known_values import compute_known_results
from simpleautodiff.compiled.backends.rewriting import without_moves
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref
from simpleautodiff.compiled.scalar.kernel import BatchedKernel
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.row import TABLE

OTHER_PATH = (
    "no path that was recorded fits these arguments: call the function with such arguments "
    "before it is exported"
)
_C = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const
constexpr continue decltype default delete do double else enum explicit export extern float for
friend goto if inline int long main mutable namespace new noexcept not not_eq nullptr operator or
or_eq private protected public register restrict return short signed sizeof static struct switch
template this throw try typedef typeid typename typeof union unsigned using virtual void volatile
wchar_t while xor xor_eq NAN INFINITY NULL"""
_FUNCTIONS = """
abs acos acosh asin asinh atan atan2 atanh base64 cbrt ceil copysign cos cosh erf erfc exp
exp2 expm1 fabs floor fma fmod free gamma hypot isfinite isinf isnan j0 j1 jn lgamma log log10 log1p
log2 malloc math memcpy memset np pow printf remainder rint round signbit sin sinh special sqrt tan
tanh tgamma trunc y0 y1 yn"""
_HERE = "as_rows at block count first given last path put results row scatter set_item status"
_TAKEN = frozenset([*keyword.kwlist, *f"{_C} {_FUNCTIONS} {_HERE}".split()])
_OWN = re.compile(r"(v|in|out|C|i|a|total|sum|rows)\d+|i|w|.*_step")


class ExportedPath(NamedTuple):
    """One path through the code; `branches[k]` is the number of the one taken if guard k fails.

    `results` are the dtypes of the results; None for a result that is not a number.
    """

    recorded: RecordedProgram
    results: list[Any]
    branches: dict[int, int]


class Export(NamedTuple):
    """The function to export, with its name and the names of its arguments.

    The first path is tried first, and those that branch off a path come after it. `batched` is the
    batched function, if it is one alone, with the same arguments and results.
    """

    name: str
    arguments: list[str]
    paths: list[ExportedPath]
    batched: BatchedKernel | None = None
    precise: bool = False

    def branches(self) -> list[tuple[int, int, int, str]]:
        """Return all branches in the order to try them: path, guard, next path, and source line."""
        return [
            (number, guard, turn, _as_comment(way.recorded.guards[guard].line))
            for number, way in enumerate(self.paths)
            for guard, turn in sorted(way.branches.items(), key=lambda pair: pair[1])
        ]

    def programs(self) -> list[RecordedProgram]:
        """Return the programs of all paths; their results have the same dtypes and shapes."""
        counts = {sum(kind is not None for kind in way.results) for way in self.paths}
        if len(counts) > 1:
            raise _paths_differ(f"{' or '.join(map(str, sorted(counts)))} results")
        kinds = [np.result_type(*of) for of in zip(*map(_list_dtypes, self.paths), strict=True)]
        found = [_make_program(way, kinds) for way in self.paths]
        for outputs in zip(*[_list_results(program) for program in found], strict=True):
            shapes = sorted({line.shape for line in outputs})
            if len(shapes) > 1:
                raise _paths_differ(f"results of the shapes {' and '.join(map(str, shapes))}")
        return found


def _as_comment(line: str) -> str:
    """Return the source line of a guard in a form that is safe in a comment."""
    text = re.sub(r"[^ -~]|\\|\?\?|[*]/|/[*]", " ", line).strip(" ()").removeprefix("at ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def _list_dtypes(way: ExportedPath) -> list[Any]:
    return [kind for kind in way.results if kind is not None]


def _list_results(program: RecordedProgram) -> list[Line]:
    return [program.lines[output] for output in program.outputs]


def _make_program(way: ExportedPath, kinds: list[Any]) -> RecordedProgram:
    """Return the recorded program with all results computed, in these dtypes."""
    program = without_moves(way.recorded)
    numbers = [output for output, kind in zip(program.outputs, way.results, strict=True)
               if kind is not None]  # fmt: skip
    program = compute_known_results(program._replace(outputs=numbers), kinds)
    for k, kind in enumerate(kinds):
        program = _convert_result(program, k, kind)
    return program


def _paths_differ(what: str) -> ArgumentError:
    return ArgumentError(
        f"the paths through the function give {what}, so that one function of C or NumPy cannot "
        "stand for them; export a new jit of it that was called along one of them"
    )


def _convert_result(program: RecordedProgram, k: int, kind: Any) -> RecordedProgram:
    """Return a program whose k-th result has a given dtype."""
    place = program.outputs[k]
    line = program.lines[place]
    if line.dtype == kind:
        return program
    lines = [*program.lines, Line(TABLE["astype"], (place, kind), {}, line.shape, kind)]
    outputs = list(program.outputs)
    outputs[k] = Ref(len(program.lines))
    return program._replace(lines=lines, outputs=outputs)


def identifier(name: str) -> str:
    """Return an identifier for C, C++ and Python, as similar to the name as possible.

    Examples
    --------
    >>> identifier("grad of <lambda>"), identifier("2nd"), identifier("double"), identifier("x")
    ('grad_of_lambda', 'f2nd', 'double_', 'x')
    """
    word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "f"
    word = f"f{word}" if word[0].isdigit() else word
    return f"{word}_" if word in _TAKEN or word in TABLE else word


def argument_names(names: list[str], function: str) -> list[str]:
    """Return unique names for arguments, which nothing else in a file has.

    Examples
    --------
    >>> argument_names(["x", "x", "exp", "p['w']", "v3", "f"], "f")
    ['x', 'x_2', 'exp_', 'p_w', 'v3_', 'f_']
    """
    found: list[str] = []
    for name in names:
        word = identifier(name)
        if _OWN.fullmatch(word) or word == function or word.startswith(f"{function}_"):
            word = f"{word}_"
        base, number = word, 1
        while word in found:
            number += 1
            word = f"{base.rstrip('_')}_{number}"
        found.append(word)
    return found
