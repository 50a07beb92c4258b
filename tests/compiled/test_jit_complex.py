"""Complex numbers in compiled programs: pairs of real ones, as NumPy computes them."""

import cmath

import numpy as np
import pytest

import simpleautodiff as ad
from array_programs import agree, uses

pytest.importorskip("llvmlite")
jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")


rng = np.random.default_rng(21)


def complex_of(x):
    return x + 1j * np.cos(3 * x) - 0.2


FUNCTIONS = {
    "add": lambda z: z + 2 - 3j, "sub": lambda z: 1j - z, "mul": lambda z: z * z * (1 - 2j),
    "div": lambda z: (z + 1) / (z - 3j), "by real": lambda z: z / 3, "of real": lambda z: 2 / z,
    "neg": lambda z: -z, "conj": lambda z: np.conj(z) * z, "exp": np.exp, "log": np.log,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "square": np.square, "cube": lambda z: z**3,
    "power": lambda z: z**-2, "general power": lambda z: z**0.3, "tan": np.tan,
    "sum": lambda z: np.sum(z) * z, "where": lambda z: np.where(np.real(z) > 0, z, 1j),
    "index": lambda z: z[::-1] * z[2], "join": lambda z: np.concatenate([z[:3], z[::2] * 1j]),
    "outer": lambda z: z[:, None] * z, "mean": lambda z: np.mean(z[:, None] - z, axis=0),
    "cumsum": np.cumsum, "roll": lambda z: np.roll(z, 2) - z, "fft": lambda z: np.fft.fft(z) * 2,
    "reciprocal": np.reciprocal, "absolute": lambda z: np.abs(z) * z, "angle": np.angle,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("n", [37])
def test_functions_of_complex_numbers(name, n):
    f, x = FUNCTIONS[name], rng.normal(size=n)
    tolerance = {"rtol": 1e-11, "atol": 1e-11}
    agree(lambda x: f(complex_of(x)), x, **tolerance)
    agree(lambda x: (np.real(f(complex_of(x))), np.imag(f(complex_of(x)))), x, **tolerance)
    agree(lambda z: f(z), complex_of(x), **tolerance)
    agree(ad.value_and_grad(lambda x: np.sum(np.abs(f(complex_of(x))) ** 2)), x, **tolerance)


def test_products_of_complex_arrays():
    a = rng.normal(size=(20, 30)) + 1j * rng.normal(size=(20, 30))
    b = rng.normal(size=(30, 12)) + 1j * rng.normal(size=(30, 12))
    agree(lambda a, b: a @ b, a, b)
    agree(lambda a, b: np.real(a) @ b, a, b)
    agree(lambda a, b: np.einsum("ij,jk->ki", a, b), a, b)
    program = agree(lambda x: np.sum(np.abs((x * a) @ b) ** 2), rng.normal(size=(20, 30)))
    assert not uses(program, "NumPy")


def test_nothing_is_left_to_numpy_between_real_numbers():
    def characteristic(x, u):
        return np.sum(np.abs(np.mean(np.exp(1j * u[:, None] * x), axis=1)) ** 2)

    program = agree(ad.value_and_grad(characteristic), rng.normal(size=300), rng.normal(size=20))
    assert not uses(program, "NumPy")


@pytest.mark.parametrize("tier", ["tape", "cheap", "optimised"])
def test_small_programs_are_unrolled(tier):
    def f(x):
        z = np.exp(1j * x) / (2 + 1j * x[0])
        return np.sum(np.real(z * np.conj(z) + np.sqrt(z)))

    x = rng.normal(size=4)
    compiled = ad.jit(ad.grad(f), tier=tier)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), ad.grad(f)(x), rtol=1e-13)
    assert f"tier {tier}" in compiled.explain()


def test_against_jax():
    def f(np, p):
        b = p - 0.3j * p**2
        d = np.sqrt(b**2 + 1j * p)
        return np.sum(np.real(np.exp(-d) * np.log((1 - b * d) / (1 + d))))

    x = rng.uniform(0.2, 3.0, size=300)
    found = ad.jit(ad.grad(lambda x: f(np, x)), tier="optimised")
    for _ in range(3):
        gradient = found(x)
    with jax.enable_x64(True):
        expected = jax.grad(lambda x: f(jax.numpy, x))(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-12)


EDGES = [
    1,
    -1,
    1j,
    -1j,
    1e-8 + 1j,
    1 + 1e-9j,
    -1 + 1e-300j,
    3e200 + 4e200j,
    1e-200 - 1e-201j,
    -4,
    2,
]


@pytest.mark.parametrize("name", ["sqrt", "log", "exp"])
def test_accuracy_at_special_places(name):
    """Large and small numbers, and those near 1, where a logarithm is small."""
    z = np.array([z for z in EDGES if name != "exp" or abs(z) < 100], complex)
    program = agree(lambda z: getattr(np, name)(z), z, rtol=1e-14, atol=0)
    _, (found,) = program.run([z])
    for each, number in zip(found, z, strict=True):
        expected = getattr(cmath, name)(complex(number))
        assert abs(each - expected) <= 1e-15 * abs(expected)


def test_division_neither_overflows_nor_underflows():
    z = np.array([1e300 + 1e300j, 1e-300 - 1e-300j, 1.0 + 0j, 5e-320 + 1j])
    w = np.array([2e300 - 1e300j, 1e-300 + 1e-301j, 1e-310j, 1e160 + 1e160j])
    agree(lambda z, w: z / w, z, w, rtol=1e-14, atol=0)


def test_single_precision():
    z = (rng.normal(size=300) + 1j * rng.normal(size=300)).astype(np.complex64)
    agree(lambda z: np.exp(z) * z / (z + 2), z, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tier", [None, "numpy", "tape", "cheap", "optimised"])
def test_parts_that_are_constant_are_results_and_decisions(tier):
    def f(x, a):
        z = 1j * a  # its real part is 0, whatever a is
        return x * 0.5 + np.real(z), z, z.real if z.real >= 0 else a

    jitted, slope = ad.jit(f, tier=tier), ad.jit(ad.jacobian(lambda x, a: f(x, a)[0]), tier=tier)
    x = np.array([1.0, 2.0])
    for a in (1.0, 2.0, 3.0, 4.0):
        half, z, part = jitted(x, a)
        np.testing.assert_array_equal(half, x / 2)
        assert (z, part) == (1j * a, 0.0)
        np.testing.assert_array_equal(slope(x, a), np.eye(2) / 2)
    assert "1 path" in jitted.explain()
    assert "1 path" in slope.explain()


def test_the_parts_of_an_infinite_number_are_turned_alone():
    """|x + iy|² has the derivatives 2x and 2y; NumPy's own 1j * y is nan + inf i."""
    f = lambda x, y: np.abs(x + 1j * y) ** 2
    with np.errstate(all="ignore"):
        slopes = ad.jit(ad.grad(f, (0, 1)), tier="optimised")
        for x, y in ((1.0, 2.0), (1.0, np.inf)):
            assert slopes(x, y) == (2 * x, 2 * y)
        assert np.isnan(ad.grad(f)(1.0, np.float64(np.inf)))
