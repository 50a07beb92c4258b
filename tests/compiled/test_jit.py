"""`jit`: the same results as without it, whatever runs the program."""

import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import simpleautodiff as ad

TIERS = ("numpy", "tape", "cheap", "optimised")
pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def close(a, b):
    long = any(np.size(leaf) > 100 for leaf in _leaves(b))  # sums are added up in another order
    few = 2e-13 if long else 4e-15
    for x, y in zip(_leaves(a), _leaves(b), strict=True):
        assert type(x) is type(y)
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        scale = np.max(np.abs(y), initial=0.0) if np.all(np.isfinite(y)) else 1.0
        np.testing.assert_allclose(x, y, rtol=few, atol=few * scale)


def _leaves(tree):
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in _leaves(part)]
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in _leaves(part)]
    return [tree]


A = np.random.default_rng(0).standard_normal((4, 4))
X4 = np.array([0.3, -1.2, 0.8, 2.0])
CASES = {
    "function": (paper, (2.0, 5.0)),
    "gradient": (ad.grad(paper, (0, 1)), (2.0, 5.0)),
    "value and gradient": (ad.value_and_grad(paper, (0, 1)), (2.0, 5.0)),
    "hessian of a list": (ad.hessian(lambda x: x[0] ** 2 * x[1] / x[0]), ([2.0, 5.0],)),
    "third derivative": (ad.derivative(lambda x: np.exp(np.sin(x)), 3), (0.7,)),
    "array": (lambda x: np.tanh(A @ x + 1), (X4,)),
    "gradient of an array": (ad.grad(rosenbrock), (X4,)),
    "hessian of an array": (ad.hessian(rosenbrock), (X4,)),
    "jacobian": (ad.jacobian(lambda x: np.stack([x[0] * np.exp(x[1]), np.sum(x)])), (X4,)),
    "jvp": (lambda x, d: ad.jvp(rosenbrock, (x,), (d,)), (X4, X4[::-1].copy())),
    "vjp": (lambda x, s: ad.vjp(lambda y: A @ y**2, x)[1](s), (X4, X4[::-1].copy())),
    "vmap": (ad.vmap(ad.grad(lambda x: x[0] * np.exp(x[1]))), (np.arange(14.0).reshape(7, 2) / 7,)),
    "vmap of hessian": (ad.vmap(ad.hessian(rosenbrock)), (np.arange(12.0).reshape(4, 3) / 7,)),
    "grad of vmap": (
        ad.grad(
            lambda w: np.sum(ad.vmap(lambda x: np.tanh(x @ w))(np.arange(12.0).reshape(3, 4) / 9))
        ),
        (X4,),
    ),
    "nested structures": (
        ad.grad(lambda p: p["w"] @ p["x"] * p["b"][0] + p["b"][1] ** 2),
        ({"w": X4, "x": X4 + 1, "b": (2.0, 3.0)},),
    ),
    "where": (ad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)), x**3))), (X4,)),
    "extremes": (ad.grad(lambda x: np.max(x) * np.min(x) + np.ptp(x)), (X4,)),
    "piecewise": (
        ad.grad(lambda x: np.sum(np.clip(x, -1, 1) + np.abs(x) + np.maximum(x, 0.5))),
        (X4,),
    ),
    "sorting": (ad.grad(lambda x: np.sum(np.sort(x) * np.arange(4.0))), (X4,)),
    "writing": (lambda x: ad.grad(lambda x: _written(x))(x), (X4,)),
    "written array": (lambda x: _filled(x), (X4,)),
    "linear algebra": (ad.grad(lambda x: np.linalg.det(np.outer(x, x) + A)), (X4,)),
    "solve": (ad.grad(lambda x: np.sum(np.linalg.solve(A + 5 * np.eye(4), x) ** 2)), (X4,)),
    "complex": (lambda x: np.abs(np.fft.fft(x)), (X4,)),
    "kwargs": (lambda x, *, scale: x * scale, (2.0,), {"scale": 3.0}),
    "numpy scalar": (ad.grad(lambda x: np.sin(x) * x), (np.float64(2.0),)),
    "powers": (ad.grad(lambda x, y: x**y + x**3 + x**-2 + 2.0**y), (1.7, 2.3)),
    "remainders": (lambda x, y: (x % y, x // y, -x % y, -x // y), (7.5, 2.0)),
    "integers": (lambda x, n: sum(x**k for k in range(n)), (1.5, 4)),
    "large array": (
        ad.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(-(x**2)))),
        (np.linspace(-1, 2, 3000),),
    ),
    "logsumexp": (
        ad.value_and_grad(lambda x: np.max(x) + np.log(np.sum(np.exp(x - np.max(x))))),
        (np.linspace(-2, 2, 1001),),
    ),
    "rows times weights": (
        ad.grad(lambda w, x: np.mean(np.logaddexp(0, -(x @ w)))),
        (X4, np.random.default_rng(1).standard_normal((300, 4))),
    ),
}


def _written(x):
    y = np.zeros_like(x)
    y[0] = x[1] * x[2]
    y[1:] = x[1:] ** 2
    y += x
    return np.sum(y * y)


def _filled(x):
    y = np.zeros_like(x)
    y[0] = x[1] * x[2]
    y[2:] += x[:2]
    return y, {"view": y[1:]}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("case", CASES)
def test_every_tier_gives_what_the_function_gives(case, tier):
    f, args, *named = CASES[case]
    kwargs = named[0] if named else {}
    want = f(*args, **kwargs)
    jitted = ad.jit(f, tier=tier)
    for _ in range(3):
        close(jitted(*args, **kwargs), want)
    assert "cannot be compiled" not in jitted.explain()


@pytest.mark.parametrize("case", ["gradient", "hessian of an array", "powers", "array", "vmap"])
def test_other_numbers_of_the_same_signature_are_answered_by_the_same_program(case):
    f, args, *_ = CASES[case]
    jitted = ad.jit(f, tier="optimised")
    for factor in (1.0, 1.1, 0.7, 1.3):
        other = [arg * factor for arg in args]
        close(jitted(*other), f(*other))
    assert "1 signature" in jitted.explain()
    assert "1 path" in jitted.explain()


@pytest.mark.parametrize("tier", [None, *TIERS])
def test_float32_stays_float32(tier):
    f = ad.value_and_grad(lambda x: np.sum(np.tanh(x) * np.float32(2) + np.sqrt(x + 3)))
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    jitted = ad.jit(f, tier=tier)
    for _ in range(3):
        value, gradient = jitted(x)
        assert value.dtype == gradient.dtype == np.float32
        np.testing.assert_allclose(value, f(x)[0], rtol=3e-7)
        np.testing.assert_allclose(gradient, f(x)[1], rtol=1e-6)


def test_the_first_call_runs_the_function_and_the_calls_that_follow_do_not():
    ran = []

    def f(x):
        ran.append(1)
        return x * x

    jitted = ad.jit(f)
    assert [jitted(float(k)) for k in range(100)] == [float(k * k) for k in range(100)]
    jitted.wait()
    assert jitted(11.0) == 121.0
    assert len(ran) == 3  # once, and once more with the recording of the second call


# Control flow. ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", [None, *TIERS])
def test_both_ways_of_an_if_are_kept(tier):
    def f(x):
        return x * x if x > 0 else -3 * x

    jitted = ad.jit(ad.grad(f), tier=tier)
    for x in (1.0, 2.0, -1.0, 3.0, -2.0, 4.0, -5.0, -6.0, 7.0) * 10:
        assert jitted(x) == (2 * x if x > 0 else -3.0)
    jitted.wait()
    assert [jitted(x) for x in (2.0, -2.0)] == [4.0, -3.0]
    assert "2 paths" in jitted.explain()


@pytest.mark.parametrize("tier", TIERS)
def test_while_goes_round_as_often_as_the_numbers_say(tier):
    def newton(a):
        x = a
        while abs(x * x - a) > 1e-12 * a:
            x = (x + a / x) / 2
        return x

    jitted = ad.jit(ad.grad(newton), tier=tier)
    for a in (2.0, 10.0, 1000.0, 3.0, 1e6, 2.0, 0.01, 5.0):
        assert jitted(a) == pytest.approx(0.5 / math.sqrt(a), rel=1e-9)


def test_conditions_on_arrays_and_whole_numbers_are_guarded():
    def f(x, i):
        if (x > 0).all():
            return x[int(i)] ** 2
        return np.sum(x)

    jitted = ad.jit(f, tier="tape")
    x = np.array([1.0, 2.0, 3.0])
    for i in (0.0, 1.0, 2.0, 1.0, 0.0):
        assert jitted(x, i) == x[int(i)] ** 2
    assert jitted(-x, 0.0) == -6.0
    assert jitted(x, 2.0) == 9.0


def test_beyond_the_last_way_it_runs_as_it_is_and_says_so_once():
    def f(x):
        n = 0
        while x > n:
            n += 1
        return n * x

    jitted = ad.jit(f, max_paths=5, tier="tape")
    for k in range(5):
        assert jitted(k + 0.5) == (k + 1) * (k + 0.5)
    with pytest.warns(ad.NotCompiledWarning, match=r"5 different ways.*while x > n"):
        assert jitted(9.5) == 95.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jitted(11.5) == 138.0
        assert jitted(2.5) == 7.5


def test_what_cannot_be_compiled_says_so_once_at_the_users_line():
    def f(x):
        return x * float(x)  # a number that is no longer recorded

    jitted = ad.jit(f)
    assert jitted(2.0) == 4.0
    with pytest.warns(ad.NotCompiledWarning, match=r"run f as it is.*float\(x\)") as said:
        assert jitted(2.0) == 4.0
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jitted(3.0) == 9.0


def test_at_equal_numbers_the_path_is_decided_as_by_python():
    jitted = ad.jit(lambda x, y: x if x >= y else y, tier="optimised")
    nan = math.nan
    for x, y in ((1.0, 1.0), (0.0, -0.0), (1.0, 2.0), (nan, 1.0), (1.0, nan), (2.0, 1.0)):
        want = x if x >= y else y
        got = jitted(x, y)
        assert got == want or (math.isnan(got) and math.isnan(want))


# Signatures. --------------------------------------------------------------------------------------


def test_shapes_kinds_and_structures_have_programs_of_their_own():
    jitted = ad.jit(lambda x: np.sum(np.asarray(2.0) * x**2) if not isinstance(x, dict) else x["a"])
    f = ad.jit(lambda x: x[0] * 2)
    for argument in ([3.0], (3.0,), [3.0, 4.0], np.array([3.0]), np.array([3.0], np.float32)):
        for _ in range(3):
            result = f(argument)
            assert result == 6.0
            assert type(result) is type(argument[0] * 2)
    assert "5 signatures" in f.explain()
    assert jitted(np.ones(3)) == 6.0


def test_whole_numbers_and_strings_are_part_of_the_program():
    jitted = ad.jit(
        lambda x, n, how: sum(x for _ in range(n)) if how == "sum" else x**n, tier="tape"
    )
    assert jitted(2.0, 3, "sum") == 6.0
    assert jitted(2.0, 3, "power") == 8.0
    assert jitted(2.0, 5, "sum") == 10.0
    assert jitted(3.0, 3, "sum") == 9.0


def test_a_jitted_function_inside_a_transformation_is_a_function():
    f = ad.jit(lambda x: x**3)
    f(1.0), f(1.0), f(1.0)
    assert ad.grad(f)(2.0) == 12.0
    assert ad.jit(ad.grad(f), tier="optimised")(2.0) == 12.0
    np.testing.assert_array_equal(ad.vmap(f)(np.array([1.0, 2.0])), [1.0, 8.0])


def test_what_cannot_be_recorded_runs_as_it_is_and_says_why():
    jitted = ad.jit(lambda x: math.sin(x))
    assert [jitted(0.5) for _ in range(4)] == [math.sin(0.5)] * 4
    assert "math.sin" in jitted.explain()
    chosen = ad.jit(lambda x: x[x > 0])
    for x in (np.array([1.0, -1.0]), np.array([1.0, 2.0]), np.array([-1.0, -1.0])):
        np.testing.assert_array_equal(chosen(x), x[x > 0])


def test_a_function_that_is_not_the_same_twice_is_not_compiled():
    rng = np.random.default_rng(0)
    jitted = ad.jit(lambda x: x + rng.standard_normal())
    assert len({jitted(1.0) for _ in range(20)}) == 20
    assert "cannot be compiled" in jitted.explain()


def test_errors_of_the_function_come_through_and_leave_nothing_broken():
    def f(x):
        if x < 0:
            raise KeyError("negative")
        return x * 2

    jitted = ad.jit(f, tier="tape")
    assert jitted(1.0) == 2.0
    with pytest.raises(KeyError):
        jitted(-1.0)
    assert jitted(3.0) == 6.0
    with pytest.raises(TypeError):
        jitted()


@pytest.mark.parametrize("bad", [{"tier": "fast"}, {"threads": 0}, {"max_paths": "many"}])
def test_bad_options_are_refused(bad):
    with pytest.raises(ad.ArgumentError):
        ad.jit(paper, **bad)


def test_out_takes_the_result():
    jitted = ad.jit(lambda x: 2 * x)
    out = np.empty(3)
    for _ in range(3):
        assert jitted(np.arange(3.0), out=out) is out
    np.testing.assert_array_equal(out, [0, 2, 4])
    with pytest.raises(ad.ArgumentError, match="shape"):
        jitted(np.arange(3.0), out=np.empty(2))


def test_rows_are_put_into_out_at_once_unless_it_is_an_argument():
    f = ad.jit(ad.vmap(lambda x: x * x + 1), tier="optimised")
    x, out = np.arange(20.0).reshape(10, 2), np.empty((10, 2))
    for _ in range(3):
        assert f(x, out=out) is out
        np.testing.assert_array_equal(out, x * x + 1)
    want = x * x + 1
    assert f(x, out=x) is x
    np.testing.assert_array_equal(x, want)
    turned = np.empty((2, 10)).T
    np.testing.assert_array_equal(f(want, out=turned), want * want + 1)


# Around it. ---------------------------------------------------------------------------------------


def test_it_looks_like_the_function():
    @ad.jit
    def area(r):
        """Area of a disc."""
        return np.pi * r * r

    assert area.__name__ == "area"
    assert area.__doc__ == "Area of a disc."
    assert area.__wrapped__(1.0) == pytest.approx(math.pi)

    class Disc:
        @ad.jit
        def area(self, r):
            return np.pi * r * r

    assert Disc().area(1.0) == pytest.approx(math.pi)


def test_it_can_be_pickled():
    jitted = ad.jit(paper)
    jitted(2.0, 5.0), jitted(2.0, 5.0)
    again = pickle.loads(pickle.dumps(jitted))
    assert again(2.0, 5.0) == jitted(2.0, 5.0)


def test_it_says_what_it_does():
    pytest.importorskip("llvmlite", reason="shows machine code")
    jitted = ad.jit(ad.grad(lambda x: x**2 if x > 0 else x), tier="optimised")
    assert "nothing was compiled" in jitted.source()
    jitted(1.0), jitted(1.0)
    text = jitted.explain()
    assert "tier optimised" in text
    assert "guard: must be True" in text
    assert "x > 0" in text
    assert "return" in jitted.source()
    assert "define" in jitted.llvm()
    assert "ret" in jitted.asm()


def test_many_threads_may_call_it():
    jitted = ad.jit(ad.grad(paper, (0, 1)))
    want = ad.grad(paper, (0, 1))(2.0, 5.0)
    wrong = []

    def work():
        for _ in range(300):
            got = jitted(2.0, 5.0)
            if not np.allclose(got, want, rtol=1e-14):
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 1000])
def test_rows_of_any_number_and_gathered_ones(n, threads):
    def residual(camera, point):
        return np.stack([camera[0] * np.sin(point[0]) + camera[1], np.exp(-point[1] * camera[2])])

    rng = np.random.default_rng(n)
    cameras, points = rng.standard_normal((5, 3)), rng.standard_normal((11, 2))
    i, j = rng.integers(0, 5, n), rng.integers(0, 11, n)
    f = ad.vmap(ad.jacobian(residual, (0, 1)))
    want = f(cameras[i], points[j])
    rows = ad.jit(f, tier="optimised", threads=threads)
    gathered = ad.jit(lambda c, p, i, j: f(c[i], p[j]), tier="optimised", threads=threads)
    for _ in range(2):
        close(rows(cameras[i], points[j]), want)
        close(gathered(cameras, points, i, j), want)
        close(gathered(cameras, points, i - 5, j), want)
    with pytest.raises(IndexError):
        gathered(cameras, points, i + 5, j)
    assert "steps for each example" in gathered.explain()


def test_rows_of_a_computed_table_and_at_computed_places():
    rng = np.random.default_rng(3)
    table, i = rng.standard_normal((5, 3)), rng.integers(0, 5, 20)
    rows = ad.vmap(lambda row, x: np.sin(row[0]) * row[1] + x * row[2])
    for f in (
        lambda table, i, x: rows(2 * table[i], x),
        lambda table, i, x: rows((2 * table)[i], x),
        lambda table, i, x: rows(table[(i + 1) % 5], x),
        lambda table, i, x: rows(table[i], x) + 1,
        lambda table, i, x: rows(table[table[:, 0] > 3 * i[0] - 99], x[:5]),
    ):
        compiled = ad.jit(f, tier="optimised")
        for x in (rng.standard_normal(20), rng.standard_normal(20)):
            close(compiled(table, i, x), f(table, i, x))
        assert "steps for each example" not in compiled.explain()  # something comes before or after


def test_precise_is_bit_for_bit_what_python_computes():
    f = ad.grad(lambda x, y: np.exp(x) * ad.sin(y) / (x * x + y) - x / y, (0, 1))
    jitted = ad.jit(f, precise=True, tier="optimised")
    rng = np.random.default_rng(0)
    for x, y in rng.uniform(0.1, 3, (200, 2)).tolist():
        assert jitted(x, y) == f(x, y)


def test_programs_can_be_taken_away(tmp_path):
    jitted = ad.jit(ad.grad(paper, (0, 1)))
    with pytest.raises(ad.ArgumentError, match="twice"):
        jitted.to_c()
    jitted(2.0, 5.0), jitted(2.0, 5.0)
    assert "int slope(" in jitted.to_c("slope")
    namespace = {}
    exec(jitted.to_python("slope"), namespace)
    found = namespace["slope"](2.0, 5.0)
    np.testing.assert_allclose(np.ravel(found), ad.grad(paper, (0, 1))(2.0, 5.0), rtol=1e-15)


def test_a_function_that_writes_to_its_argument_is_not_compiled():
    def f(x):
        x *= 2
        return np.sum(x)

    jitted = ad.jit(f)
    x = np.ones(3)
    assert [jitted(x) for _ in range(4)] == [6.0, 12.0, 24.0, 48.0]
    assert "writes to its argument" in jitted.explain()


def test_places_that_depend_on_the_numbers():
    def f(x):
        order = np.argsort(x)
        return np.sum(x[order][:2] * np.array([1.0, 10.0])) + x[np.argmax(x)] ** 2

    jitted = ad.jit(ad.value_and_grad(f), tier="optimised")
    for x in (X4, -X4, X4[::-1].copy()):
        close(jitted(x), ad.value_and_grad(f)(x))
    assert "1 path" in jitted.explain()


def test_every_operation_takes_columns():
    from simpleautodiff.compiled.scalar.operations import OPERATIONS

    column = np.array([0.25, 0.5, 1.5])
    for operation in OPERATIONS.values():
        if operation.name != "select":
            with np.errstate(all="ignore"):
                whole = operation.numpy(*[column] * operation.arity)
                each = [operation.numpy(*[x] * operation.arity) for x in column]
            np.testing.assert_allclose(whole, each, rtol=1e-15)


def test_a_function_with_an_argument_called_out_gets_it():
    f = ad.jit(lambda x, out=1.0: x * out, tier="optimised")
    x = np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x)
        np.testing.assert_array_equal(f(x, out=np.full(3, 2.0)), 2 * x)


def test_out_on_every_path():
    f = ad.jit(lambda x: 2 * x if x[0] > 0 else np.sin(x), tier="optimised")
    for _ in range(3):
        for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
            out = np.empty(2)
            assert f(x, out=out) is out
            np.testing.assert_allclose(out, 2 * x if x[0] > 0 else np.sin(x), 1e-15)


def test_calls_that_cannot_be_compared_are_explained():
    jitted = ad.jit(lambda x, names: x * len(names))
    assert [jitted(2.0, {"a", "b"}) for _ in range(3)] == [4.0] * 3
    assert ad.grad(jitted)(2.0, "ab") == 2.0
    text = jitted.explain()
    assert "called 3 times, run as it is, because its arguments cannot be compared" in text
    assert "unhashable type: 'set'" in text
    assert "inside another transformation" in text


def test_a_way_that_cannot_be_recorded_leaves_the_others():
    def f(x):
        return x * x if x > 0 else math.sin(x)

    jitted = ad.jit(f, tier="tape")
    expected = [(x, f(x)) for x in (2.0, 3.0, -1.0, -2.0, 4.0)]
    for x, y in expected * 2:
        assert jitted(x) == y
    text = jitted.explain()
    assert "1 path" in text
    assert "else run as it is, because it cannot be compiled: float(x)" in text
