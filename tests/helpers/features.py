"""The page of features: what this library and its peers have, row by row.

It is written by: python tests/helpers/features.py > docs/features.md

The answers for this library are those of tests/features, one test for each row; a test that fails
makes an answer untrue. What is said of the peers was found by running and reading them, in
November 2026.
"""

from __future__ import annotations

import importlib.util
import pathlib
import re
from typing import NamedTuple

TESTS = pathlib.Path(__file__).parents[1] / "features"
PEERS = {
    "JAX": "JAX",
    "Torch": "PyTorch with torch.func",
    "autograd": "HIPS autograd",
    "CasADi": "CasADi",
    "SymPy": "SymPy",
    "FwdDiff": "ForwardDiff.jl",
    "Zygote": "Zygote.jl",
    "Enzyme": "Enzyme",
    "DI": "DifferentiationInterface.jl",
    "TF": "TensorFlow",
    "CppAD": "CppAD",
    "tiny": "tinygrad",
    "MyGrad": "MyGrad",
    "ndt": "numdifftools",
    "micro": "micrograd",
    "paper": "the program of the paper, from which this library began",
    "mini": "minitorch",
    "needle": "needle",
    "Tangent": "Tangent",
    "dax": "autodidax",
}

FIELD = """
Modes:
YYYYnypyyYynNnNYnnyy Forward mode (JVP)
YYYYnnyyyYyYYnYNyyyy Reverse mode (VJP)
pnnynnnnnnynnnnnnnnp Both modes on one recorded graph (user code not re-run)
nnnpnnnnpnpnnnnnnnnn Chooses the mode by shape, and says why
yynynynyypynnnnnnnny Vector forward: many tangents in one sweep
Pnnpynnnpnynnpnnnnnn Taylor mode, any order
nnnnnnnnnnnnnnnnnnnn Cross-country (vertex) elimination
pnnYYnpnpnnpnnnnnpyp Derivative as an expression/program the user can read
pppynnnnypnnnYnnpppn Numerical / complex-step differences in the same API

Higher order:
YYYYyypppYypNYNNnyyy grad of grad, any order
YYYYyyyyyPynNYNNnnnn Hessian in one call
yyYynnpyypynNnNNnppp Hessian-vector product
YYYyypppppy-------py Nested derivatives free of perturbation confusion

Jacobians and operators:
yyypnyyyyppnnnnNnnyn value_and_grad
YYPYyppyyPynNpNNnnpp Jacobian by either mode
YYYynpyyyYyppnnnppyy jvp / vjp with user seeds
yynynnppynynnnnnnnny Linearize once, apply often; transpose a linear map
pnpynnpnnnpnnnnnnnnn Implicit differentiation (root, argmin, fixed point)
pnyynpppnpnnnnnnnnnn Sensitivities of ODE solves

Sparsity:
nnnYpnnpynynnnnnnnnn Jacobian sparsity pattern found automatically
nnnYnnnnynynnnnnnnnn Coloured (compressed) sparse Jacobian
nnnynnnnynynnnnnnnnn Sparse Hessian (star / acyclic colouring)
ppnynpppppnnnnnnnnnn Sparse matrices as values
nnnpnnnnpnnnnnnnnnnn Picture of pattern + colours + seed matrix

Control flow and state:
YYYNnyyyyYppyyyyyyyy Native if/for/while in differentiated code
PpnYpyyyyypnnnnnnnyp Differentiable control flow inside compiled code
npnnnnnnnpynnnnnnnnn Replay detects that a branch would change
NPNyppnypnypYynnnnpn In-place assignment x[i] = v
YPNNpypppNypN-PPpppy Silent loss of the derivative is impossible

Arrays and operations:
YYYPpyyyyYnyYpNNyypp n-d arrays with broadcasting
yyynnyyy-ynpp-NNnnnn 150+ NumPy-style functions
yyPPppyp-ypnN-NNnnnn Linear algebra rules (solve, chol, eig, svd)
ppYPyyyp-yppn-NNnnnn Special functions (gamma, erf, Bessel, betainc)
NNPPn----N-nPYNNnnyn Unchanged `import numpy as np` code works
NNNYyyypyN-NNYYYypyp Python ints accepted as the point
NNYYyyyyyNyNYYYYpnyp float64 by default
NNNYpppypYpnN-nnnnnn Masked branch is NaN-safe: where(x<1,x,sqrt x) at 0
NYNNnnpp-N-nN------- norm(0) and norm(0)^2 give a finite (sub)gradient

Number types:
YYYNypyypyynNppPnnnn Complex numbers
NNNnyyyppnpnNppPnnnn fractions.Fraction / exact rationals
NnNnyyynpnynnpppnnnn Multi-precision (mpmath / BigFloat)
nnnnpypnpnpnnnnnnnnn Intervals (enclosures of derivatives)
NnNnyyyppnynnppPpnpn Generic over any user number type

Custom rules:
yyyyppyypyypy-ppyyyy User-written JVP/VJP
Pppy-ppy-nynn-nnnnpy One declaration serves both modes
nnnnnnppnnnnn-nnnnnn Rules verified automatically when registered
yyppnpyyyypyy-nnpyyn stop_gradient / detach
nnnpnnnnpnnnnYnnnnnn Black-box fallback by differences, error-estimated

Compilation:
Yynypyyyyyyynnnnpnpp Just-in-time or ahead-of-time compiled evaluation
nnnnpnnnnnnnnnnnnnyn Emits readable Python source of the derivative
ppnYynnpnpypnnnnnnnn Emits C
ypnyy-yy-yyynnnnnnyp Graph optimisation (CSE, DCE, folding)
ypnyynnnyyyynnnnnpnp Record once, replay without Python
PpnYynnnnyypnnnnnnpn Trace can be saved and loaded

Batching and structure:
yynynnnpppnnnnnnnnny vmap
YYYpnnyypynpnnNNnnpy Nested dict/list/tuple parameters
Nnnnnnyynnnnnnnnnnnn Plain dataclasses as parameters
Nnyyynpypnnnnnnnnnnn Select inputs by name
yyyynnpnnppnnnnnnnnn Auxiliary outputs (has_aux)

Memory:
yyyp-nyppyynnnnnnnnn Checkpointing / rematerialisation
ypnnnnnnnnpnnnnnnnnn Reports what each node stores
PYYypypy-yypy-NNnn-p 100 000-operation chain, no recursion failure

Visualisation and teaching:
nnpPynnnnynyPnPNynnn Built-in drawing of the computational graph
nnnnnnnnnynynnNNpnnn Drawing without a Graphviz binary
nnnnnnnnnnnnpnYPpnnn Value and derivative shown on every node
pnnPnnnnnnnnnnNPnnnn Primal + tangent + adjoint trace tables (Baydin T2/T3)
nnnnnnnnnnnnnnNNnnnn Stepping through a sweep, with breakpoints and undo
nnnnpnnnnnnnnnNNnnnn LaTeX/TikZ of the traces and figures
nnnnnnnnnpnpnnNNpnnn Self-contained interactive HTML
nnnnnnnnnnnnnnNNnnnn Prose reason for each derivative
nnnnnnnnnnnnnnNNyynn Exercises with an autograder
nnYnnnnnnnnnppYYyyny Core readable in a sitting (<1000 lines of Python)
ppnppnnnynpnnnnNnnnn Operation counts per mode

Errors and validation:
yPNpnnpn-ynpnnNNnnpn Error names the user line of the faulty operation
PPNPnnnnnPpnnnNNnnnn NaN/Inf provenance: node, line, both factors
nnnnnnnnnnpnnnNNnnnn Report of non-unique derivatives (kinks) met
YYYnnnppyynnpypNyyyn Gradient checker
nnnnnnnnnnnnnnNNnnnn Checker says which node or rule is wrong

Integration and packaging:
pnppnppppppnnpnNnnnn SciPy optimize / solve_ivp adapters (jac, hess, sparsity)
yynpnpyypynynnnNpppn GPU arrays
nnpnn----n-nnnnNnnnn Other array libraries (CuPy, Dask) through one API
NNYNp----N-PYPYNnnp- Pure-Python wheel, NumPy the only dependency
YYNYN----n-YYNNNpnN- py.typed
nnyny----n-nypypnnnn Runs in the browser (Pyodide)
"""


class Answer(NamedTuple):
    """What a test shows of a feature: yes, partly or no, and why it is not yes."""

    title: str
    answer: str
    why: str
    test: str


ANSWERS: dict[str, Answer] = {}


def shows(title, answer="yes", why=""):
    """Say that a test shows a feature of the table; what is not a yes has a reason."""
    assert title in TITLES, f"no such feature: {title}"
    assert answer in ("yes", "partly", "no"), answer
    assert bool(why) == (answer != "yes"), f"{title}: what is not a yes has a reason"

    def register(test):
        known = ANSWERS.setdefault(title, Answer(title, answer, why, test.__name__))
        assert known.test == test.__name__, f"{title} is shown by {known.test}, too"
        return test

    return register


def _sections():
    """Give the sections of the table, each with its rows: the cells of the peers, and the title."""
    for section in FIELD.strip().split("\n\n"):
        name, *rows = section.splitlines()
        yield name.rstrip(":"), [row.split(" ", 1) for row in rows]


TITLES = [title for _name, rows in _sections() for _cells, title in rows]


def file_of(section):
    """Return the name of the file that has the tests of a section."""
    return f"test_{re.sub('[^a-z]+', '_', section.lower())}.py"


def collect():
    """Import the tests, so that all answers are known."""
    for section, _rows in _sections():
        path = TESTS / file_of(section)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def page():
    """Return the page."""
    collect()
    count = {
        answer: sum(ANSWERS[title].answer == answer for title in TITLES)
        for answer in ("yes", "partly", "no")
    }
    lines = [
        "# Features, and those of the peers",
        "",
        f"{len(TITLES)} features of systems for automatic differentiation: {count['yes']} are "
        f"here, {count['partly']} in part, {count['no']} are not. This page is generated from "
        "tests: each row names the one that exercises the feature, and what is not a yes says why "
        "below its table.",
        "",
        "Of the peers: `Y` yes, `P` in part, `N` no, as seen by running them; `y`, `p`, `n` the "
        "same from their documentation, source or common knowledge; `-` does not apply. Add-ons "
        "of others do not count. As of November 2026.",
        "",
        "Peers: " + ", ".join(_explain(*peer) for peer in PEERS.items()) + ".",
    ]
    for section, rows in _sections():
        lines += ["", f"## {section}", "", *_table(section, rows), *_reasons(rows)]
    return "\n".join(lines) + "\n"


def _explain(short, name):
    return name if short == name else f"{short} is {name}"


def _table(section, rows):
    file = f"[tests](../tests/features/{file_of(section)})"
    yield f"| feature | here | {' | '.join(PEERS)} | {file} |"
    yield "|---|:-:|" + ":-:|" * len(PEERS) + "---|"
    for cells, title in rows:
        assert len(cells) == len(PEERS), title
        shown = ANSWERS[title]
        yield f"| {title} | {shown.answer} | {' | '.join(cells)} | `{shown.test}` |"


def _reasons(rows):
    answers = [ANSWERS[title] for _cells, title in rows]
    reasons = [f"- {title}: {answer}. {why}" for title, answer, why, _test in answers if why]
    return ["", *reasons] if reasons else []


if __name__ == "__main__":
    import features  # the module that the tests import, not this script

    print(features.page(), end="")
