"""Whole programs: plain, differentiated eagerly, compiled, and in JAX."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from contestants import Jax, Library, Ours
from entrants import error
from field import Field, check_answer
from measure import Effort, Timing, race, settle
from report import NOTHING, Section, Target, digits

os.environ["SIMPLEAUTODIFF_CACHE"] = "off"  # whatever is compiled here is compiled anew

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
NAMES = [name for name in NAMES if name not in ("__init__", "table")]
KINDS: tuple[type[Library], ...] = (Ours, Jax)
PLAIN, EAGER, COMPILED, JAX = "plain", "eager", "compiled", "JAX"
AGAIN = "JAX, steps computed again"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    effort: Effort
    size: int  # which of the sizes of each program


FULL = Plan(Effort(rounds=9, slice_s=0.05, budget_s=1.0), 1)
QUICK = Plan(Effort(rounds=5, slice_s=0.01, budget_s=0.2), 0)

EACH = Target("compiled program, against JAX", Fraction(1))
MEAN = Target("geometric mean of compiled programs, against JAX", Fraction(1, 4))
EAGERLY = Target("geometric mean of eager gradients, against the program", Fraction(8))


def ours(ad: Any, module: Any, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """Return the program, its gradient, and the compiled gradient."""
    gradient = ad.grad(module.f)
    compiled = ad.jit(gradient)
    return {
        PLAIN: lambda: module.f(*args),
        EAGER: lambda: gradient(*args),
        COMPILED: lambda: compiled(*args),
    }


@contextmanager
def steps_computed_again(jax: Any) -> Iterator[None]:
    """Let loops of JAX keep their states alone, which is faster for some and slower for others."""
    scan, fori_loop = jax.lax.scan, jax.lax.fori_loop
    jax.lax.scan = lambda f, *args, **kwargs: scan(jax.checkpoint(f), *args, **kwargs)
    jax.lax.fori_loop = lambda a, b, f, x: fori_loop(a, b, jax.checkpoint(f), x)
    try:
        yield
    finally:
        jax.lax.scan, jax.lax.fori_loop = scan, fori_loop


def in_jax(jax: Any, module: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    """Return the compiled gradient of the twin. Whole numbers are sizes, and so are known to it."""
    twin = module.in_jax()
    static = [k for k, arg in enumerate(args) if isinstance(arg, int)]
    given = [arg if k in static else jax.device_put(arg) for k, arg in enumerate(args)]
    differentiate = jax.jacfwd if hasattr(twin, "forward") else jax.grad
    gradient = jax.jit(differentiate(twin), static_argnums=static)
    return lambda: jax.block_until_ready(gradient(*given))


def checked(name: str, runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Compare all gradients with JAX's, or the eager one; return the seconds of the first calls."""
    seconds, found = {}, {}
    for who, run in runs.items():
        begin = time.process_time()
        found[who] = np.asarray(run())
        seconds[who] = time.process_time() - begin
    reference = found.get(JAX, found[EAGER])
    for who, value in found.items():
        if who != PLAIN:
            check_answer(f"{name}, {who}", error(value, reference))
    return seconds


def measure(name: str, field: Field, plan: Plan) -> tuple[dict[str, Timing], dict[str, float]]:
    """Time one program in all ways; also return the seconds until each was as fast as it gets."""
    module = import_module(f"programs.{name}")
    args = module.example(module.SIZES[plan.size])
    runs = ours(field.present[Ours].ad, module, args)  # type: ignore[attr-defined]
    if Jax in field.present:
        jax = field.present[Jax].jax  # type: ignore[attr-defined]
        runs[JAX] = in_jax(jax, module, args)
        runs[AGAIN] = in_jax(jax, module, args)
        with steps_computed_again(jax):
            runs[AGAIN]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not compiled shows in its time
        until = checked(name, runs)
        begin = time.process_time()
        calls = settle(runs[COMPILED])
        until[COMPILED] += time.process_time() - begin
        checked(name, runs)
        timings = race(runs, plan.effort)
        until[COMPILED] -= calls * timings[COMPILED].best  # what the calls themselves take
    if JAX in runs:
        timings[JAX] = min(timings[JAX], timings.pop(AGAIN), key=lambda timing: timing.best)
    return timings, until


def section(field: Field, plan: Plan) -> Section:
    """Time all programs."""
    made = Section("Whole programs: value, and gradient in three ways")
    rows = []
    ratios: dict[str, list[float]] = {COMPILED: [], EAGER: []}
    for name in NAMES:
        timings, until = measure(name, field, plan)
        made.data[name] = {who: asdict(timing) for who, timing in timings.items()}
        made.data[name]["until"] = until
        times = [digits(1e3 * timings[who].best) for who in (PLAIN, EAGER, COMPILED)]
        slower = timings[EAGER].best / timings[PLAIN].best
        ratios[EAGER].append(slower)
        if JAX not in timings:
            rows.append((name, *times, NOTHING, NOTHING, digits(slower), NOTHING))
            continue
        ratio = timings[COMPILED].best / timings[JAX].best
        ratios[COMPILED].append(ratio)
        verdict = made.judge(EACH, name, ratio)
        begun = f"{digits(until[COMPILED])} / {digits(until[JAX])}"
        in_jax_ms = digits(1e3 * timings[JAX].best)
        rows.append((name, *times, in_jax_ms, f"{digits(ratio)} {verdict}", digits(slower), begun))
    means = {who: geometric_mean(found) for who, found in ratios.items() if found}
    last = [NOTHING if who not in means else digits(means[who]) for who in (COMPILED, EAGER)]
    if COMPILED in means:
        last[0] += f" {made.judge(MEAN, 'all programs', means[COMPILED])}"
    last[1] += f" {made.judge(EAGERLY, 'all programs', means[EAGER])}"
    rows.append(("geometric mean", *[""] * 4, *last, ""))
    head = ("ms of CPU time, best", PLAIN, EAGER, COMPILED, JAX, "compiled/JAX", "eager/plain")
    made.table((*head, "s until then: ours / JAX"), rows)
    made.notes(field.notes(KINDS))
    return made


def geometric_mean(ratios: list[float]) -> float:
    """Return the mean by which ratios are compared."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


SECTIONS = (section,)
