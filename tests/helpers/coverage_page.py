"""The page of what is answered, found out by trying every function.

It is written by: python tests/helpers/coverage_page.py > docs/numpy.md

Every function is called in the ways that array_cases.py calls it, and what came out right is
ticked: the identity of forward and reverse mode, of second derivatives, of complex numbers, and of
batches. Nothing here is stated.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import scipy.linalg
import scipy.special

import array_cases as cases
import simpleautodiff as ad
from simpleautodiff.arrays import FUNCTIONS, PLAIN_FUNCTIONS
from simpleautodiff.arrays.lost_derivatives import REFUSED_BY_SCIPY, SCIPY
from simpleautodiff.arrays.numpy.polynomial_series import FAMILIES, Family, implementations
from simpleautodiff.arrays.patch_scipy import MODULES, module_of
from simpleautodiff.arrays.registry import IN_PLACE_FUNCTIONS, SPECIAL_UFUNCS, name_of
from simpleautodiff.arrays.scipy.solver_hints import CARRIED
from simpleautodiff.arrays.ufuncs import IMPLEMENTATIONS
from simpleautodiff.core.level import Traced
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules import TABLE
from simpleautodiff.rules.row import UFUNCS

COLUMNS = ("forward", "reverse", "second order", "complex", "batched")


ALIASES = {"amax": "max", "amin": "min", "asanyarray": "asarray", "empty_like": "zeros_like"}
MAKERS = {"array", "asanyarray", "asarray", "empty", "eye", "full", "identity", "ones", "zeros"}


def page() -> str:
    """Try everything and write the page."""
    elementwise = [row for row in TABLE.values() if not row.arrays]
    functions, ufuncs, special = tried_functions(), tried_ufuncs(), tried_special()
    of_scipy = sum(len(_in_module(module)) for module in MODULES)
    answered = len(ufuncs) + len(functions) + len(special) + of_scipy
    parts = [
        "# What is differentiated",
        "",
        f"{answered} functions of NumPy and SciPy can be differentiated. This page is generated "
        "by trying them with arrays. A tick stands for a result that was compared: forward mode "
        "with differences, reverse mode with forward mode, second derivatives of both modes, "
        "complex numbers by the [convention](conventions.md#complex-numbers), a batch with its "
        "examples. A test keeps the page true.",
        "",
        "What else code may do, and what it may not: "
        "[arrays](arrays.md#what-needs-to-be-written-differently).",
        "",
        "## NumPy's functions",
        "",
        *_table(functions),
        "",
        "## NumPy's ufuncs",
        "",
        *_table(ufuncs),
        "",
        "## Ufuncs of scipy.special",
        "",
        *_table(special),
        "",
        "## Functions of SciPy that are written in Python",
        "",
        "`scipy.linalg.expm(x)` can be differentiated, and so can `expm(x)` after `from "
        "simpleautodiff.scipy.linalg import expm`. After `from scipy.linalg import expm` above "
        "the first derivative it is SciPy's own, which takes plain arrays; the error says so.",
        "",
        "Some were tried as those above; the others, listed below, have tests of their own:",
        "",
        *_table({name: tried(f, x) for name, (f, x) in OF_SCIPY.items()}),
        "",
        *[f"- `scipy.{module}`: {_list(_in_module(module))}" for module in MODULES],
        "",
        "Solvers run in plain numbers, and what they find has its derivatives "
        "([how](scipy.md#scipys-own-functions)):",
        "",
        *_list_solvers(),
        "",
        "## Functions of NumPy that are written in Python",
        "",
        "`np.r_`, `np.c_`, `np.vectorize`, the objects of `np.polynomial` at nodes, and "
        "these of its functions:",
        "",
        *[f"- `np.polynomial.{family.module}`: {_list(_series(family))}" for family in FAMILIES],
        "",
        "## Functions that write into arrays made from nodes",
        "",
        _list(sorted(_name(function) for function in IN_PLACE_FUNCTIONS)),
        "",
        "## Plain answers, without a derivative",
        "",
        _list(sorted(_name(function) for function in PLAIN_FUNCTIONS)),
        "",
        "## The rows of numbers",
        "",
        "| row | domain | derivative | where it is a choice |",
        "|---|---|---|---|",
        *[_line(row) for row in elementwise],
    ]
    return "\n".join(parts) + "\n"


def tried_functions():
    """Return what came out right for every function, by the cases that use it."""
    found = {_name(function): set() for function in FUNCTIONS}
    original = Traced.__array_function__
    for _, f, x in [*cases.CASES, *cases.NOT_IN_BATCHES]:
        seen = set()

        def noting(self, function, *rest, seen=seen):
            seen.add(function)
            return original(self, function, *rest)

        Traced.__array_function__ = noting
        try:
            ad.jvp(f, (x,), (x,))
        finally:
            Traced.__array_function__ = original
        right = tried(f, x)
        for function in seen & set(FUNCTIONS):
            found[_name(function)] |= right
    for alias, name in ALIASES.items():
        found[alias] |= found[name]
    return found


def tried_ufuncs():
    rows = {u for u, answer in UFUNCS.items() if hasattr(answer, "primitive")}
    return {u.__name__: tried_elementwise(u) for u in {*rows, *IMPLEMENTATIONS}}


def tried_special():
    names = [n for n in SPECIAL_UFUNCS if isinstance(getattr(scipy.special, n, None), np.ufunc)]
    return {name: tried_elementwise(getattr(scipy.special, name)) for name in names}


POINTS = (np.array([0.3, 0.6]), np.array([1.3, 2.6]), np.array([-0.4, 0.7]), np.array([-0.9, -0.2]))
OTHERS = (0.4, 1, 2.0, np.array([0.4, 0.9]), np.array([[0.5, 0.2], [0.1, 0.8]]))


def tried_elementwise(ufunc):
    """Return what came out right at some of the points, in one of the arguments."""
    right = set()
    for x in POINTS:
        for place in range(ufunc.nin):
            for other in OTHERS:
                f = lambda x, other=other, place=place: _first(
                    ufunc(*[x if k == place else other for k in range(ufunc.nin)])
                )
                right |= tried(f, x)
                if len(right) == len(COLUMNS):
                    return right
    return right


def positive(x):
    """Return a matrix that has a Cholesky factor."""
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(2)


VECTOR, MATRIX = np.array([0.3, 1.1]), np.array([[1.5, 0.2], [0.4, 1.1]])
OF_SCIPY = {
    "linalg.block_diag": (lambda x: scipy.linalg.block_diag(x, 2 * x), MATRIX),
    "linalg.cho_solve": (
        lambda x: scipy.linalg.cho_solve(scipy.linalg.cho_factor(positive(x)), x[0]),
        MATRIX,
    ),
    "linalg.cholesky": (lambda x: scipy.linalg.cholesky(positive(x), lower=True), MATRIX),
    "linalg.expm": (lambda x: scipy.linalg.expm(x), MATRIX),
    "linalg.solve": (lambda x: scipy.linalg.solve(x, x[0]), MATRIX),
    "linalg.solve_triangular": (lambda x: scipy.linalg.solve_triangular(x, x[0]), MATRIX),
    "linalg.sqrtm": (lambda x: scipy.linalg.sqrtm(x), MATRIX),
    "special.log_softmax": (lambda x: scipy.special.log_softmax(x), VECTOR),
    "special.logsumexp": (lambda x: scipy.special.logsumexp(x), VECTOR),
    "special.polygamma": (lambda x: scipy.special.polygamma(1, x), VECTOR),
    "special.softmax": (lambda x: scipy.special.softmax(x), VECTOR),
}


def _first(result):
    return result[0] if isinstance(result, tuple) else result


def tried(f, x):
    """Return the columns in which a function of an array comes out right."""
    right = set()
    checks = (_forward, _reverse, _second, _complex, _batched)
    for column, check in zip(COLUMNS, checks, strict=True):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if check(f, x):
                    right.add(column)
            except (ad.AutodiffError, TypeError, ValueError, ArithmeticError, LookupError):
                continue
    return right


def _direction(x):
    return np.cos(np.arange(x.size) + 1.0).reshape(x.shape)


def _close(a, b, scale=1e-8):
    a, b = np.asarray(a), np.asarray(b)
    size = 1 + np.max(np.abs(b), initial=0)
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= scale * size))


def _forward(f, x):
    h, d = 1e-3, _direction(x)
    along = lambda t: np.asarray(f(x + t * d))
    slope = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    value, tangent = ad.jvp(f, (x,), (d,))
    return _close(value, f(x)) and _close(tangent, slope, 1e-7)


def _reverse(f, x):
    d = _direction(x)
    value, tangent = ad.jvp(f, (x,), (d,))
    seed = _direction(np.asarray(value))
    (adjoint,) = ad.vjp(f, x)[1](seed if seed.shape else seed[()])
    return _close(np.sum(np.real(tangent * seed)), np.sum(adjoint * d))


def _second(f, x):
    d = _direction(x)
    total = lambda x: np.sum(np.sin(np.real(f(x))))
    product = ad.hvp(total, (x,), (d,))
    again = ad.grad(lambda x: np.sum(ad.grad(total)(x) * d))(x)
    return _close(again, product, 1e-7)


def _complex(f, x):
    z, d = x * (1 + 0.2j), _direction(x) * (0.3 - 0.8j)
    value, tangent = ad.jvp(f, (z,), (d,))
    h = 1e-4
    along = lambda t: np.asarray(f(z + t * d))
    slope = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    seed = _direction(np.asarray(value))
    (adjoint,) = ad.vjp(f, z)[1](seed if seed.shape else seed[()])
    same = _close(np.sum(np.real(tangent * seed)), np.real(np.sum(adjoint * d)))
    return same and _close(value, f(z)) and _close(tangent, slope, 1e-6)


def _batched(f, x):
    batch = np.stack([x, 1.01 * x, 0.98 * x])
    if not _close(ad.vmap(f)(batch), np.stack([f(one) for one in batch])):
        return False
    slope = ad.grad(lambda x: np.sum(np.sin(np.real(f(x)))))
    return _close(ad.vmap(slope)(batch), np.stack([slope(one) for one in batch]))


def _table(found):
    head = ["| function | " + " | ".join(COLUMNS) + " |", "|---|" + ":-:|" * len(COLUMNS)]
    ticks = lambda right: " | ".join("✓" if column in right else "" for column in COLUMNS)
    title = lambda name: f"`{name}` with `like=`" if name in MAKERS else f"`{name}`"
    return head + [f"| {title(name)} | {ticks(right)} |" for name, right in sorted(found.items())]


def _line(row: Primitive) -> str:
    kinks = "; ".join(f"{kink.text}: {kink.choice}" for kink in row.kinks)
    cells = (f"`{row.name}`", row.domain.text, row.reason, kinks)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _name(function: object) -> str:
    return name_of(function).removeprefix("np.")


def _in_module(module: str) -> list[str]:
    """Return the names of functions; a public method calls the private one that is answered."""
    answered = [key for key in SCIPY if module_of(key) == module and key not in REFUSED_BY_SCIPY]
    names = [re.sub(r"\.__(init|call)__$", "", key) for key in answered]  # said by its class
    keys = [re.sub(r"\._(?!_)", ".", name.removeprefix(f"{module}.")) for name in names]
    return sorted({re.sub("^[a-z]{3}_(array|matrix)", r"*_\1", key) for key in keys})


def _list_solvers() -> list[str]:
    """Return a line for each module of SciPy whose solvers carry derivatives."""
    modules = sorted({key.partition(".")[0] for key in CARRIED})
    named = {
        m: sorted(key.partition(".")[2] for key in CARRIED if key.startswith(m)) for m in modules
    }
    return [f"- `scipy.{module}`: {_list(names)}" for module, names in named.items()]


def _series(family: Family) -> list[str]:
    return sorted(implementations(family, getattr(np.polynomial, family.module)))


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."


if __name__ == "__main__":
    print(page(), end="")
