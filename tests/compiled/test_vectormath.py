"""The vector mathematics: near the true value, the same at every width, right at the ends."""

import ctypes
import math
import runpy
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest

from simpleautodiff.compiled.backends.llvm.math import (
    NAMES,
    OF_TWO,
    coefficients,
    functions,
    symbol,
)
from simpleautodiff.compiled.native.compile import build
from simpleautodiff.rules.row import TABLE

llvm = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

KINDS = {"double": np.float64, "float": np.float32}
WIDTHS = {"double": (1, 2, 4, 8), "float": (1, 2, 4, 8, 16)}
LOOP = """
define void @loop{own}(ptr %a, ptr %b, ptr %out, i64 %n) nounwind "prefer-vector-width"="512" {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %pa = getelementptr {kind}, ptr %a, i64 %i
  %pb = getelementptr {kind}, ptr %b, i64 %i
  %po = getelementptr {kind}, ptr %out, i64 %i
  %x = load {type}, ptr %pa, align 4
  %y = load {type}, ptr %pb, align 4
  %r = call {type} {symbol}({given})
  store {type} %r, ptr %po, align 4
  %next = add i64 %i, {width}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""


def loop(name, width, kind):
    lanes = kind if width == 1 else f"<{width} x {kind}>"
    given = f"{lanes} %x" + (f", {lanes} %y" if name in OF_TWO else "")
    own = symbol(name, width, kind)
    return LOOP.format(
        own=own.replace("@", "_"), kind=kind, type=lanes, symbol=own, given=given, width=width
    )


def machine(features=None):
    """Return a target machine of its own for every engine, which takes it over."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if features is None:
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    else:
        cpu = ""
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=1, reloc="pic", jit=True)


def inlined(module, target):
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_new_gvn_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(target, options))


def compiled(wanted, features=None):
    """Return what runs any of the wanted functions on arrays."""
    definitions, declarations = functions(wanted)
    loops = "".join(loop(*one) for one in wanted)
    text = "\n".join([definitions, *sorted(declarations), loops])
    names = ["loop" + symbol(*one).replace("@", "_") for one in wanted]
    if features is None:
        address_of = build(text, level=1, names=names).address
    else:
        module = llvm.parse_assembly(text)
        module.verify()
        inlined(module, machine(features))
        engine = llvm.create_mcjit_compiler(module, machine(features))
        engine.finalize_object()
        address_of = engine.get_function_address
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)

    def run(one, *arguments):
        x, y = arguments[0], arguments[-1]
        out = np.empty_like(x)
        address = address_of("loop" + symbol(*one).replace("@", "_"))
        signature(address)(x.ctypes.data, y.ctypes.data, out.ctypes.data, len(x))
        return out

    return run


@cache
def all_of(name, kind):
    return compiled([(name, width, kind) for width in WIDTHS[kind]])


TRUE = {
    "asinh": mpmath.asinh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
}


def even(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


def sizes(low, high):
    """Return numbers of both signs whose size is spread from 10**low to 10**high."""
    return lambda rng, n: 10 ** rng.uniform(low, high, n) * rng.choice([-1.0, 1.0], n)


def positive(low, high):
    return lambda rng, n: abs(sizes(low, high)(rng, n))


def near_one(low, high):
    return lambda rng, n: 1 + sizes(low, high)(rng, n)


def below_one(rng, n):
    return 1 - positive(-6, -1)(rng, n)


def points(name, kind):
    """Return where a function is tried, as a list of samplers; for two arguments, pairs of them."""
    double = kind == "double"
    most, least = (308, -745) if double else (38, -103)
    end = 709.7 if double else 88.7
    logarithms = [even(0.5, 2), positive(-most, most), near_one(-8, -1)]
    circular = [even(-4, 4), even(-1000, 1000), sizes(-10, 9), sizes(4, most)]
    ranges = even(-3, 3), sizes(-most / 2, most / 2), sizes(-most - 3, 8 - most)
    plane = [(each, each) for each in ranges]
    return {
        "exp": [even(-2, 2), even(least, end)],
        "exp2": [even(-2, 2), even(least * 1.44, end * 1.44)],
        "expm1": [even(-2, 2), even(-40, end), sizes(-20, 0)],
        "sigmoid": [even(-10, 10), even(least, 40)],
        "softplus": [even(-10, 10), even(least, 700)],
        "sinh": [even(-3, 3), even(-end, end), sizes(-10, 0)],
        "cosh": [even(-3, 3), even(-end, end)],
        "tanh": [even(-1, 1), even(-22, 22), sizes(-10, 0)],
        "log": logarithms,
        "log2": logarithms,
        "log10": logarithms,
        "log1p": [even(-0.9, 3), sizes(-15, -0.01), positive(-15, most)],
        "asinh": [even(-3, 3), sizes(-15, most)],
        "acosh": [lambda rng, n: 1 + positive(-6, 0)(rng, n), positive(0.01, most)],
        "atanh": [even(-0.99, 0.99), sizes(-15, -0.01), below_one],
        "asin": [even(-1, 1), sizes(-15, 0)],
        "acos": [even(-1, 1), below_one],
        "atan": [even(-3, 3), sizes(-15, 30)],
        "cbrt": [even(-8, 8), sizes(-most - 5, most)],
        "sqrt": [positive(-most - 5, most)],
        "erf": [even(-3, 3), even(-7, 7), sizes(-20, 0)],
        "erfc": [even(-3, 3), even(0, 27.2 if double else 10.05)],
        "sin": circular,
        "cos": circular,
        "tan": circular,
        "atan2": plane,
        "hypot": plane,
        "power": [
            (even(0, 3), even(-30, 30)),
            (positive(-most, most), even(-1, 1)),
            (near_one(-6, -2), sizes(2, 6)),
            (even(-9, -0.1), lambda rng, n: rng.integers(-40, 40, n)),
        ],
    }[name]


def sampled(name, kind, count):
    rng = np.random.default_rng(7)
    drawn = [group if isinstance(group, tuple) else (group,) for group in points(name, kind)]
    columns = zip(*([one(rng, count) for one in group] for group in drawn), strict=True)
    return [np.concatenate(column).astype(KINDS[kind]) for column in columns]


def errors(values, truths):
    """Return each error in units of the last place of the true value."""
    limits = np.finfo(values.dtype)
    lowest = math.frexp(float(limits.smallest_subnormal))[1] - 1
    for value, truth in zip(values.tolist(), truths, strict=True):
        if truth == 0 or abs(truth) > float(limits.max):
            assert value == 0 if truth == 0 else math.isinf(value)
            continue
        last = max(mpmath.frexp(truth)[1] - limits.nmant - 1, lowest)
        yield float(abs(mpmath.mpf(value) - truth) / mpmath.mpf(2) ** last)


ONE_PLACE = {"exp", "log", "sin", "cos", "sqrt", "log1p", "power", "atan"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_within_two_units_of_the_last_place(name, kind):
    arguments = sampled(name, kind, 1200)
    values = all_of(name, kind)((name, 1, kind), *arguments)
    true = TRUE.get(name) or getattr(mpmath, name)
    with mpmath.workdps(60):
        numbers = zip(*(map(mpmath.mpf, column.tolist()) for column in arguments), strict=True)
        worst = max(errors(values, [mpmath.re(true(*each)) for each in numbers]))
    assert worst <= (1 if name in ONE_PLACE else 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_next_to_multiples_of_a_right_angle(name, kind):
    """Where nearly all digits of the argument cancel."""
    with mpmath.workdps(60):
        reach = 30 if kind == "double" else 22
        turns = np.unique(np.geomspace(1, 2**reach, 2000).astype(int))
        nearest = np.array([float(k * mpmath.pi / 2) for k in turns.tolist()]).astype(KINDS[kind])
        values = all_of(name, kind)((name, 1, kind), nearest)
        truths = [getattr(mpmath, name)(mpmath.mpf(x)) for x in nearest.tolist()]
        assert max(errors(values, truths)) <= 1


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -3.0, 2.5, -2.5, math.inf, -math.inf]
SPECIAL += [math.nan, 5e-324, 1e-45, -1e-45, 2e-310, 1e-40, 1.7e308, -1.7e308, 3e38, -3e38, 1e300]
SPECIAL += [1e22, -1e22, 710.0, -710.0, 720.0, -750.0, 88.0, 90.0, -104.0, -120.0, 1 + 2**-52]
SPECIAL += [1e-20, -1e-20, 1 + 2**-23, 1 - 2**-24, 9007199254740993.0, -16777217.0, 0.1, -0.1]


def special(name, kind):
    with np.errstate(over="ignore", under="ignore"):
        numbers = np.array(SPECIAL).astype(KINDS[kind])
    grid = np.meshgrid(numbers, numbers) if name in OF_TWO else [numbers]
    flat = [np.ascontiguousarray(axis.ravel()) for axis in grid]
    return [np.concatenate([axis, np.ones(-len(axis) % 16, axis.dtype)]) for axis in flat]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_special_values_are_those_of_numpy(name, kind):
    """Compared with float64 functions, so that an answer is known to more than 2 places."""
    arguments = special(name, kind)
    values = all_of(name, kind)((name, 1, kind), *arguments)
    with np.errstate(all="ignore"):
        wide = [axis.astype(np.float64) for axis in arguments]
        expected = reference(name)(*wide)
        narrow = expected.astype(KINDS[kind])
    np.testing.assert_array_equal(np.isnan(values), np.isnan(narrow))
    np.testing.assert_array_equal(np.isinf(values), np.isinf(narrow))
    zero = (expected == 0) & ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(values[zero]), np.signbit(expected[zero]))
    small = KINDS[kind](np.finfo(KINDS[kind]).smallest_subnormal) * 2
    finite = np.isfinite(narrow)
    rough = np.finfo(KINDS[kind]).eps * 4
    np.testing.assert_allclose(values[finite], narrow[finite], rtol=rough, atol=small)


def reference(name):
    from scipy import special as functions_of_scipy

    def stable(x):
        return np.where(x < 0, np.exp(-abs(x)), 1.0) / (1 + np.exp(-abs(x)))

    own = {"sigmoid": stable, "softplus": lambda x: np.logaddexp(x, 0.0)}
    renamed = TABLE[name].numpy[0] if TABLE[name].numpy else name
    return own.get(name) or getattr(np, renamed, None) or getattr(functions_of_scipy, name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_width_gives_the_same_bits(name, kind):
    pairs = zip(sampled(name, kind, 480), special(name, kind), strict=True)
    arguments = [np.concatenate(pair) for pair in pairs]
    run = all_of(name, kind)
    expected = run((name, 1, kind), *arguments)
    for width in WIDTHS[kind][1:]:
        got = run((name, width, kind), *arguments)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.isnan(got), ~numbers)
        assert got[numbers].tobytes() == expected[numbers].tobytes()


@pytest.mark.slow
def test_the_constants_are_those_that_the_tool_makes():
    path = Path(__file__).parents[2] / "tools" / "fit_vectormath.py"
    with mpmath.workdps(40):
        made = runpy.run_path(str(path))
        for bits, constants in ((53, coefficients.DOUBLE), (24, coefficients.FLOAT)):
            made_now = made["polynomials"](bits) | made["numbers"](bits)
            assert constants == {name: tuple(map(float, v)) for name, v in made_now.items()}
        assert list(coefficients.TWO_OVER_PI_WORDS) == made["words"]()


def test_names_are_rows():
    assert set(TABLE) >= NAMES
    assert {name for name in NAMES if len(TABLE[name].partials) == 2} == OF_TWO


def test_nothing_is_defined_twice():
    wanted = [(name, 4, kind) for name in ("sin", "cos", "sin", "exp") for kind in KINDS]
    definitions, declarations = functions(wanted)
    heads = [line for line in definitions.splitlines() if line.startswith(("define", "@"))]
    assert len(set(heads)) == len(heads)
    assert "declare" not in definitions
    assert all(line.startswith("declare") for line in declarations)


def test_sine_and_cosine_share_the_reduction():
    """The kernel of both has hardly more multiply-adds than that of one."""
    together = """
define <4 x double> @both(<4 x double> %x) {
  %s = call <4 x double> @sad_sin_v4f64(<4 x double> %x)
  %c = call <4 x double> @sad_cos_v4f64(<4 x double> %x)
  %r = fadd <4 x double> %s, %c
  ret <4 x double> %r
}
"""
    counts = [_count("@both", together), _count("@loop_sad_sin", loop("sin", 4, "double"))]
    assert counts[0] == counts[1]


def _count(name, text):
    definitions, declarations = functions([("sin", 4, "double"), ("cos", 4, "double")])
    module = llvm.parse_assembly("\n".join([definitions, *sorted(declarations), text]))
    inlined(module, machine())
    body = next(str(f) for f in module.functions if f"@{f.name}".startswith(name))
    return body.count("@llvm.fma")


def test_without_fused_multiply_add_the_result_is_the_same():
    if "x86_64" not in llvm.get_default_triple():
        pytest.skip("the features named are those of x86-64")
    wanted = [(name, 2, "double") for name in ("exp", "log", "sin", "power")]
    plain = compiled(wanted, features="")
    for one in wanted:
        arguments = sampled(one[0], "double", 32)
        expected = all_of(one[0], "double")(one, *arguments)
        np.testing.assert_array_equal(plain(one, *arguments), expected)
