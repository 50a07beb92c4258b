"""Functions of rows, compiled: bundle adjustment, and the Hessian of Rosenbrock's function."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import fresh
from bundle import INPUTS, jacobian_by_steps, residual, residual_of, scene
from contestants import Autograd, Casadi, Jax, Ours, Torch
from entrants import Entrant, Run, entered, ratio_table
from field import Field
from measure import Effort, race
from report import Section, Target, digits
from written_in_c import WrittenInC

ROWS, BLOCKS, JAX_ROWS = "C by hand, the same arrays", "C by hand, blocks of 8", "JAX jit"
GATHERED, COLUMNS = "simpleautodiff, gathered", "simpleautodiff, columns"
BUNDLE_TARGETS = {
    ROWS: Target("bundle adjustment, ours / C", Fraction(12, 10)),
    JAX_ROWS: Target("bundle adjustment, ours / JAX", Fraction(1, 15)),
}
LAID_OUT_TARGETS = {BLOCKS: Target("bundle adjustment laid out, ours / C", Fraction(12, 10))}
COMPILE_TARGET = Target("bundle adjustment, ms to compile", Fraction(80))
CACHE_TARGET = Target("bundle adjustment, ms from the cache", Fraction(5))
ROSENBROCK_TARGET = Target("Rosenbrock's Hessian, µs", Fraction(10))
VARIABLES = 1000


# Bundle adjustment. -------------------------------------------------------------------------------


def bundle_section(field: Field, effort: Effort) -> Section:
    """Time the Jacobians of all observations, and what comes before the first of them."""
    section = Section("7. Bundle adjustment: the 2 x 15 Jacobian of 36,455 observations")
    observations = scene().observations()
    found = entered(field, BUNDLE, jacobian_by_steps(observations))
    timings = race(found.runs, effort)
    count = len(observations.inputs)
    per_row = {name: timing.per(count) for name, timing in timings.items()}
    head = "ns of CPU time per observation"
    ratio_table(section, head, per_row, BUNDLE, lambda s: digits(1e9 * s), BUNDLE_TARGETS)
    laid_out = [entrant for entrant in BUNDLE if entrant[0] in (COLUMNS, BLOCKS)]
    head += ", arrays laid out for vectors before"
    ratio_table(
        section, head, per_row, laid_out, lambda s: digits(1e9 * s), LAID_OUT_TARGETS, own=COLUMNS
    )
    before = {name: 1e3 * seconds for name, seconds in found.seconds.items()}
    section.data["until the first answer, ms"] = before
    section.table(
        ("ms of CPU time until the first answer, libraries loaded",),
        [(f"{name}: {digits(number)}",) for name, number in before.items()],
    )
    _compile_table(section)
    section.notes([*found.notes, *_UNTIMED])
    return section


def _compile_table(section: Section) -> None:
    """Say what it takes to compile in a new process, and to find the code on disk in another."""
    compiled, kept = fresh.twice("bundle")
    section.data["compile"] = {"compiled": compiled, "from the cache": kept}
    cells = []
    for target, numbers in ((COMPILE_TARGET, compiled), (CACHE_TARGET, kept)):
        verdict = section.judge(target, "making the code", numbers["made"])
        cells.append(f"{digits(numbers['made'])} {target} {verdict}")
    names = {"loading": "import of llvmlite", "eager": "eager call, 256 observations",
             "first": "first call: eager, recording, making"}  # fmt: skip
    others = [(text, digits(compiled[key]), digits(kept[key])) for key, text in names.items()]
    rows = [("making or loading the code", *cells), *others]
    section.table(("ms, in a new process", "compiled", "from the cache"), rows)


def _ours(ours: Any) -> Run:
    observations = scene().observations()
    jacobians = ours.ad.jit(ours.ad.vmap(ours.ad.jacobian(residual_of(np))), tier="optimised")
    return lambda: jacobians(*observations)


def _ours_columns(ours: Any) -> Run:
    """Take and give arrays whose last axis counts the observations: laid out for vectors."""
    columns = [np.ascontiguousarray(part.T) for part in scene().observations()]
    one = ours.ad.jacobian(residual_of(np))
    jacobians = ours.ad.jit(ours.ad.vmap(one, 1, 2), tier="optimised")
    return lambda: jacobians(*columns)


def _ours_gathered(ours: Any) -> Run:
    cameras, points, camera_of, point_of, weights, features = scene()
    one = ours.ad.jacobian(lambda *args: residual(np, *args), (0, 1, 2))
    rows = ours.ad.vmap(one)

    @ours.ad.jit(tier="optimised")
    def jacobians(cameras: Any, points: Any, weights: Any, features: Any) -> Any:
        return rows(cameras[camera_of], points[point_of], weights, features)

    return lambda: jacobians(cameras, points, weights, features)


def _joined(parts: Any) -> Any:
    return np.concatenate([part.reshape(len(part), 2, -1) for part in parts], axis=2)


def _c_rows(c: WrittenInC) -> Run:
    inputs, features, blocks = scene().observations().blocks()
    out = np.empty((len(inputs), 2, INPUTS))
    call = c.function("bundle_rows", len(blocks), inputs, features, out)
    return lambda: (call(), out, (inputs, features))[1]


def _c_blocks(c: WrittenInC) -> Run:
    blocks = scene().observations().blocks()[2]
    out = np.empty((len(blocks), 2, INPUTS, 8))
    call = c.function("bundle_blocks", len(blocks), blocks, out)
    return lambda: (call(), out, blocks)[1]


def _first(rows: Any) -> Any:
    return rows[: len(scene().weights)]


def _jax(jax: Any) -> Run:
    given = [*map(jax.jax.numpy.asarray, scene().observations())]
    one = jax.jax.jacrev(residual_of(jax.jax.numpy))
    jacobians = jax.jax.jit(jax.jax.vmap(one))
    return lambda: jax.jax.block_until_ready(jacobians(*given))


def _torch(torch: Any) -> Run:
    given = [*map(torch.torch.tensor, scene().observations())]
    jacobians = torch.torch.func.vmap(torch.torch.func.jacrev(residual_of(torch.torch)))
    return lambda: jacobians(*given)


def _casadi(library: Any) -> Run:
    casadi = library.casadi
    inputs, features = scene().observations()
    x, feature = casadi.SX.sym("x", INPUTS), casadi.SX.sym("feature", 2)
    result = residual_of(_CasadiNumpy(casadi))(x, feature)
    one = casadi.Function("one", [x, feature], [casadi.densify(casadi.jacobian(result, x))])
    jacobians, given = one.map(len(inputs)), (casadi.DM(inputs.T), casadi.DM(features.T))
    return lambda: jacobians(*given)


class _CasadiNumpy:
    """CasADi's functions by NumPy's names."""

    def __init__(self, casadi: Any) -> None:
        self.sqrt, self.sin, self.cos, self.sum = casadi.sqrt, casadi.sin, casadi.cos, casadi.sum1
        self.cross, self.linalg = casadi.cross, self


BUNDLE = (
    Entrant(Ours.name, Ours, _ours),
    Entrant(GATHERED, Ours, _ours_gathered, _joined),
    Entrant(COLUMNS, Ours, _ours_columns, lambda out: out.transpose(2, 0, 1)),
    Entrant(ROWS, WrittenInC, _c_rows, _first),
    Entrant(BLOCKS, WrittenInC, _c_blocks,
            lambda out: _first(out.transpose(0, 3, 1, 2).reshape(-1, 2, INPUTS))),
    Entrant(JAX_ROWS, Jax, _jax),
    Entrant("PyTorch vmap", Torch, _torch),
    Entrant("CasADi map", Casadi, _casadi,
            lambda dm: np.array(dm).reshape(2, -1, INPUTS).transpose(1, 0, 2)),
)  # fmt: skip
_UNTIMED = (
    (BLOCKS, "arrays laid out for vectors before, inputs and results"),
    ("autograd", "has no vmap: one observation at a time takes minutes"),
    ("numba", "has no derivatives; those written by hand stand in C"),
    ("PyTorch compile", "not measured: compiling takes half a minute"),
)


# Rosenbrock's function. ---------------------------------------------------------------------------


def element(pair: Any) -> Any:
    """Return the part of Rosenbrock's function that two neighbours make."""
    return 100 * (pair[1] - pair[0] ** 2) ** 2 + (1 - pair[0]) ** 2


def _pairs() -> Any:
    x = np.random.default_rng(0).normal(size=VARIABLES)
    return np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(x, 2))


def _hessians_by_hand() -> Any:
    a, b = _pairs().T
    rows = np.array([[1200 * a * a - 400 * b + 2, -400 * a], [-400 * a, np.full(len(a), 200.0)]])
    return rows.transpose(2, 0, 1)


def rosenbrock_section(field: Field, effort: Effort) -> Section:
    """Time the Hessians of the 999 pairs, of which the whole one is made."""
    section = Section(f"12. Hessian of Rosenbrock's function, n = {VARIABLES}, pair by pair")
    found = entered(field, ROSENBROCK, _hessians_by_hand())
    timings = race(found.runs, effort)
    ratio_table(section, "µs of CPU time", timings, ROSENBROCK, lambda s: digits(1e6 * s), {})
    ours = 1e6 * timings[Ours.name].best
    verdict = section.judge(ROSENBROCK_TARGET, "n = 1000", ours)
    section.notes([*found.notes, (Ours.name, f"target {ROSENBROCK_TARGET} µs: {verdict}")])
    return section


def _ours_hessians(ours: Any) -> Run:
    pairs = _pairs()
    hessians = ours.ad.jit(ours.ad.vmap(ours.ad.hessian(element)), tier="optimised")
    return lambda: hessians(pairs)


def _jax_hessians(jax: Any) -> Run:
    pairs = jax.jax.numpy.asarray(_pairs())
    hessians = jax.jax.jit(jax.jax.vmap(jax.jax.hessian(element)))
    return lambda: jax.jax.block_until_ready(hessians(pairs))


def _torch_hessians(torch: Any) -> Run:
    pairs = torch.torch.tensor(_pairs())
    hessians = torch.torch.func.vmap(torch.torch.func.hessian(element))
    return lambda: hessians(pairs)


def _casadi_hessians(library: Any) -> Run:
    casadi, pairs = library.casadi, _pairs()
    x = casadi.SX.sym("x", 2)
    one = casadi.Function("one", [x], [casadi.densify(casadi.hessian(element(x), x)[0])])
    hessians, given = one.map(len(pairs)), casadi.DM(pairs.T)
    return lambda: hessians(given)


ROSENBROCK = (
    Entrant(Ours.name, Ours, _ours_hessians),
    Entrant("NumPy by hand", Ours, lambda _: _hessians_by_hand),
    Entrant("JAX jit", Jax, _jax_hessians),
    Entrant("PyTorch vmap", Torch, _torch_hessians, lambda x: x.detach().numpy()),
    Entrant("CasADi map", Casadi, _casadi_hessians,
            lambda dm: np.array(dm).reshape(2, -1, 2).transpose(1, 0, 2)),
)  # fmt: skip
KINDS = (Ours, WrittenInC, Jax, Torch, Casadi, Autograd)
