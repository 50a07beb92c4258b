"""Ways to make `jit` give a wrong answer, each of which was found by trying."""

import importlib
import math
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import simpleautodiff as ad

TIERS = (None, "numpy", "tape", "cheap", "optimised")
pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")
record = np.dtype([("a", float), ("b", float)])


def answers(f, calls, tier=None, same=True):
    """Call a function and its compiled twin; assert that they answer alike."""
    jitted = ad.jit(f, tier=tier)
    for args in calls:
        want, got = f(*args), jitted(*args)
        if same:
            assert type(got) is type(want)
        np.testing.assert_array_equal(got, want)
    return jitted


# What of the arguments is part of the program. ----------------------------------------------------


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("f", "others"),
    [
        (lambda x, n: x * n, [np.int64(3), np.int64(4), np.int64(5)]),
        (lambda x, n: x if n else -x, [np.True_, np.False_, np.True_]),
        (lambda x, n: x * n[0], [np.array([k, 2], object) for k in (1, 5, 7)]),
        (lambda x, n: x if n[0] == "a" else -x, [np.array([k]) for k in "aba"]),
        (lambda x, n: n["a"] * x, [np.array([(k, 2.0)], record) for k in (1.0, 3.0, 4.0)]),
        (lambda x, n: n * n + x, [1 + 2j, 1 + 3j, 4j]),
    ],
)
def test_arguments_that_are_no_floats_are_never_taken_for_others(f, others, tier):
    answers(f, [(2.0, other) for other in others for _ in range(3)], tier)


def test_complex_numbers_may_change_from_call_to_call():
    jitted = answers(lambda z: z * z + 1, [(complex(k, 2),) for k in range(5)])
    assert "1 signature" in jitted.explain()


@pytest.mark.parametrize("tier", TIERS)
def test_a_list_that_is_changed_later_is_recorded_as_it_was(tier):
    def f(x):
        places = [0, 1]
        first = x[places]
        places[0] = 2
        return first + x[places]

    answers(f, [(np.arange(3.0) + k,) for k in range(4)], tier)


@pytest.mark.parametrize("tier", TIERS)
def test_constant_results_belong_to_the_caller(tier):
    jitted = ad.jit(lambda x: (x * 2, np.zeros(3)), tier=tier)
    for _ in range(4):
        _, zeros = jitted(1.0)
        assert not zeros.any()
        zeros[0] = 5.0


# What code may go by. -----------------------------------------------------------------------------


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x in {1.0, 2.0} else -x,
        lambda x: {1.0: 3.0}.get(x, 0.0) * x,
        lambda x: x if f"{x:.0f}" == "5" else -x,
        lambda x: x if str(x) == "5.0" else -x,
        lambda x: x * round(x),
        lambda x: sum(range(math.floor(x))) * x,
        lambda x: np.floor(x) * x,
        lambda x: "abcdefgh"[math.ceil(x)] == "b",
    ],
)
def test_lookups_texts_and_whole_numbers(f, tier):
    answers(f, [(5.0,), (5.0,), (5.0,), (1.0,), (2.0,), (5.0,), (3.5,)], tier, same=False)


@pytest.mark.parametrize("tier", TIERS)
def test_the_floor_of_what_is_no_whole_number(tier):
    answers(lambda x: np.floor(x), [(5.5,), (5.5,), (math.nan,), (-math.inf,), (1e300,)], tier)
    answers(math.floor, [(5.5,), (5.5,), (1e300,), (-0.5,)], tier)
    jitted = ad.jit(lambda x: sum(range(int(x))), tier=tier)
    assert [jitted(3.0), jitted(3.5)] == [3, 3]
    with pytest.raises(ValueError, match="NaN"):
        jitted(math.nan)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_division_rounded_down_at_special_numbers(kind, tier):
    special = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 1e-40, 1e30, np.inf, -np.inf, np.nan]
    x, y = (np.ravel(part).astype(kind) for part in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        want = x // y
        jitted = answers(lambda x, y: x // y, [(x, y)] * 3, tier)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(jitted(x, y))[zero], np.signbit(want)[zero])


@pytest.mark.parametrize("tier", TIERS)
def test_decisions_by_a_hair_do_not_use_up_the_ways(tier):
    jitted = ad.jit(lambda a, b, c: a if a * b - c == 0 else b, tier=tier)
    for a, b in np.random.default_rng(0).uniform(0, 9, (200, 2)).tolist():
        assert jitted(a, b, a * b) in (a, b)  # a fused product is not quite c
    assert "1 path " in jitted.explain()


@pytest.mark.parametrize("tier", TIERS)
def test_a_function_that_captures_what_is_being_recorded(tier):
    def f(x):
        inner = ad.jit(lambda y: x * y, tier=tier)
        return inner(2.0) + inner(2.0) + inner(3.0)

    for transformed in (f, ad.grad(f)):
        answers(transformed, [(3.0,), (3.0,), (4.0,)], tier)


# Around the compiler. -----------------------------------------------------------------------------


@ad.jit
def decorated(x):
    return x * 2


def test_a_decorated_function_can_be_pickled():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


@pytest.mark.parametrize("tier", [None, "cheap", "optimised"])
def test_what_llvm_refuses_goes_on_without_and_says_so(tier, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("LLVM fell over")

    pytest.importorskip("llvmlite")
    monkeypatch.setattr(
        importlib.import_module("simpleautodiff.compiled.native.compile"), "build", fail
    )
    f, rows = ad.jit(lambda x: x * x, tier=tier), ad.jit(ad.vmap(lambda x: x * x), tier=tier)
    for _ in range(80):
        assert f(3.0) == 9.0
        assert rows(np.full(3, 3.0)).tolist() == [9.0] * 3
    assert "could not be compiled: LLVM fell over" in f.wait().explain()
    assert "could not be compiled: LLVM fell over" in rows.wait().explain()


def test_compiling_writes_nothing_to_the_terminal(capfd):
    pytest.importorskip("llvmlite")
    jitted = ad.jit(ad.vmap(lambda x: np.sin(x) + 0.123), tier="optimised")
    jitted(np.ones(3))
    assert "1 path" in jitted.explain()
    jitted.asm()
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, where it is loaded
def test_a_copy_of_the_process_compiles_on_its_own():
    pytest.importorskip("llvmlite")
    many = [ad.jit(lambda x, k=k: np.sin(x) * k) for k in range(8)]
    for f in many:
        for _ in range(10):
            f(1.0)
    child = os.fork()
    if not child:
        for _ in range(100):
            many[0](1.0)
        os._exit("optimised" not in many[0].wait().explain())
    status = (0, 0)
    for _ in range(600):
        status = os.waitpid(child, os.WNOHANG)
        if status[0]:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
    assert status == (child, 0)


def test_warnings_stay_as_they_were_whichever_thread_records():
    before, often = list(warnings.filters), sys.getswitchinterval()

    def work():
        for k in range(30):
            ad.jit(lambda x, k=k: x * np.sin(x) + k, tier="numpy")(1.0)

    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(often)
    assert list(warnings.filters) == before


# Writing. -----------------------------------------------------------------------------------------


def copied(x):
    y = np.zeros_like(x)
    np.copyto(y, x * 2)
    return y


def filled(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1]
    y[0] += 3.0
    return y


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("f", [copied, filled, ad.vmap(copied), ad.vmap(filled)])
def test_an_array_that_was_written_to_is_a_result(f, tier):
    calls = [(np.arange(6.0).reshape(2, 3) + k,) for k in range(3)]
    assert "cannot be compiled" not in answers(f, calls, tier).explain()


@pytest.mark.parametrize("tier", TIERS)
def test_what_is_done_to_a_list_or_a_dict_is_done_at_every_call(tier):
    def f(numbers, names):
        numbers.append(1.0)
        names["z"] = numbers[0]

    jitted = ad.jit(f, tier=tier)
    for _ in range(3):
        numbers, names = [5.0], {"z": 2.0}
        jitted(numbers, names)
        assert numbers == [5.0, 1.0]
        assert names == {"z": 5.0}


@pytest.mark.parametrize("tier", ["numpy", "optimised"])
def test_complex_numbers_have_conjugates(tier):
    z = np.array([1 + 2j, -3j])
    jitted = ad.jit(lambda z: z * z.conj(), tier=tier)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(z), z * z.conj())
    slope = ad.jit(ad.grad(lambda x: np.abs(np.exp(1j * x) * x) ** 2), tier=tier)
    assert [slope(1.0), slope(1.0)] == pytest.approx([2.0, 2.0], rel=1e-14)


def test_the_tape_machine_is_made_once_however_many_ask_for_it():
    program = """
import sys, threading
import simpleautodiff as ad
sys.setswitchinterval(1e-6)
def work(k):
    f = ad.jit(lambda x: ad.sin(x) * k)
    assert all(abs(f(0.5) - f(0.5)) < 1e-12 for _ in range(40))
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    environment = {**os.environ, "SIMPLEAUTODIFF_CACHE": "off"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-500:]


# Kinds of number, and what holds them. ------------------------------------------------------------


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("size", [12, 1000])
def test_arrays_whose_bytes_stand_the_other_way_round(size, tier):
    other = np.arange(float(size)).astype(np.dtype(float).newbyteorder())
    weights = other[::-1]
    for f in (
        lambda x: x * 2,
        lambda x: x.T,
        np.sum,
        lambda x: [y * 2 for y in x],
        lambda x: x * weights,
        lambda x: weights[x.astype(int)] * 2,
        ad.vmap(lambda x: x * x),
    ):
        answers(f, [(other + k,) for k in (0.0, 0.0)] + [(other,)] * 3, tier, same=False)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("size", [6, 1000])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint64, np.float32, float])
def test_numbers_of_python_are_compared_as_numpy_does(kind, size, tier):
    x = (np.arange(size) - 2).astype(kind)
    for f in (
        lambda x: x == 3,
        lambda x: x < 2.5,
        lambda x: x >= 0.1,
        lambda x: x < 2**70,
        lambda x: x >= -(2**63),
    ):
        answers(f, [(x,)] * 3, tier)
    answers(lambda x: x == 3, [(x > 0,)] * 3, tier)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tier", TIERS)
def test_the_mean_of_nothing_is_no_number(tier):
    for f in (np.mean, lambda x: np.mean(x, axis=0), lambda x: np.sum(x) / x.size):
        jitted = ad.jit(f, tier=tier)
        for _ in range(3):
            assert np.isnan(jitted(np.zeros((0, 3)))).all()


@pytest.mark.parametrize("tier", TIERS)
def test_a_single_number_in_another_kind_is_converted(tier):
    answers(lambda x: x.tolist(), [(np.float32(1.5),), (np.float32(2.5),)] * 2, tier)


@pytest.mark.parametrize("tier", TIERS)
def test_the_result_is_put_into_what_it_is_a_view_of(tier):
    jitted = ad.jit(lambda x: x[::-1], tier=tier)
    for _ in range(4):
        x = np.arange(5.0)
        assert jitted(x, out=x) is x
        assert x.tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]


class Model:
    def __init__(self, weight):
        self.weight, self.calls, self.itself = weight, 0, self

    def product(self, x):
        return self.weight * x

    def counted(self, x):
        self.calls += 1
        return self.weight * x


@pytest.mark.parametrize("tier", TIERS)
def test_what_an_object_holds_is_part_of_the_signature(tier):
    product, model = ad.jit(Model.product, tier=tier), Model(2.0)
    assert [product(model, 3.0) for _ in range(3)] == [6.0] * 3
    model.weight = 5.0
    assert [product(model, 3.0) for _ in range(3)] == [15.0] * 3
    model.weight = np.array([1.0, 2.0])
    assert [product(model, 3.0).tolist() for _ in range(3)] == [[3.0, 6.0]] * 3
    model.weight[0] = 7.0
    assert product(model, 3.0).tolist() == [21.0, 6.0]
    counted, model = ad.jit(Model.counted, tier=tier), Model(2.0)
    assert [counted(model, 3.0) for _ in range(4)] == [6.0] * 4


def test_an_iterator_is_used_up():
    numbers, jitted = iter([1.0, 2.0, 3.0, 4.0]), ad.jit(lambda x, more: x * next(more))
    assert [jitted(2.0, numbers) for _ in range(4)] == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize("tier", TIERS)
def test_each_whole_number_that_code_goes_by_is_a_way(tier):
    jitted = ad.jit(lambda x: x * int(x), max_paths=5, tier=tier)
    for _ in range(2):
        for k in range(1, 6):
            assert jitted(k + 0.5) == k * (k + 0.5)
    assert "5 paths" in jitted.explain()
    with pytest.raises(ad.TraceError, match="5 different ways"):
        jitted(9.5)


# Several threads and processes. -------------------------------------------------------------------


def cubed(x):
    return np.sum(x**3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ad.grad(cubed),
        lambda: ad.value_and_grad(cubed, argnums=0),
        lambda: ad.jacobian(ad.grad(cubed), mode="forward"),
        lambda: ad.hessian(cubed),
        lambda: ad.vmap(ad.grad(ad.jit(cubed)), in_axes=1),
        lambda: ad.jacobian(ad.vmap(ad.derivative(np.sin, n=2))),
    ],
)
def test_compiled_derivatives_can_be_pickled(make):
    jitted, x = ad.jit(make(), precise=True), np.arange(6.0).reshape(2, 3)
    again = pickle.loads(pickle.dumps(jitted))
    assert again.function.options.precise
    argument = x[0] if "derivative" in repr(jitted) else x
    for _ in range(3):
        for got, want in zip(again(argument), jitted(argument), strict=True):
            np.testing.assert_array_equal(got, want)


def test_what_wraps_a_derivative_is_not_taken_for_it():
    from functools import wraps

    @wraps(ad.grad(cubed))
    def wrapper(x):
        return 2 * x

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ad.jit(wrapper))


def test_functions_that_record_do_not_wait_for_each_other():
    waiting = threading.Barrier(2)

    def meeting(number):
        def f(x):
            if type(x) is not float:  # it is being recorded
                waiting.wait(10)
                both[1 - number](0.5)
            return x * 2

        return f

    both = [ad.jit(meeting(k), tier="numpy") for k in (0, 1)]
    threads = [threading.Thread(target=f, args=(1.0,), daemon=True) for f in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("tier", TIERS)
def test_a_whole_number_of_numpy_may_be_none_at_another_call(tier):
    jitted = ad.jit(lambda x: np.sum(math.floor(x)), tier=tier)
    assert [jitted(2.5), jitted(3.5)] == [2, 3]
    assert jitted(3.5).dtype.kind == "i"
    assert math.isnan(jitted(math.nan))
    assert jitted(1e300) == 1e300


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("size", [6, 300])
def test_arrays_chosen_by_a_condition_inside_a_derivative(size, tier):
    rng = np.random.default_rng(0)
    calls = [(rng.normal(size=size),) for _ in range(4)]
    jitted = answers(ad.grad(lambda x: np.sum(x[x > 0] ** 2)), calls, tier)
    assert "chosen by a condition" in jitted.explain()


@pytest.mark.parametrize("whole", [np.sum, np.prod, lambda u: np.sum(np.sin(u))])
def test_pieces_that_look_at_several_elements(whole):
    def f(x):
        return np.sum(np.piecewise(x, [x < 0, x >= 0], [lambda u: u * whole(u), lambda u: u * u]))

    jitted = ad.jit(ad.value_and_grad(f))
    first, second = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, -3.0])
    for x in (first, first, second, second, -first, first):
        value, gradient = ad.value_and_grad(f)(x)
        found = jitted(x)
        np.testing.assert_allclose(found[0], value, 1e-14)
        np.testing.assert_allclose(found[1], gradient, 1e-14)
    with pytest.raises(ad.RuleError, match=r"np\.piecewise .* several elements"):
        ad.vmap(f)(np.stack([first, second]))


def test_pieces_of_single_elements_are_compiled():
    w = 2.5

    def f(x):
        return np.sum(np.piecewise(x, [x < 0], [lambda u: np.log1p(-u) * w, np.sqrt]))

    jitted = ad.jit(ad.grad(f))
    for x in (np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
        np.testing.assert_allclose(jitted(x), ad.grad(f)(x), 1e-14)
    assert "1 path" in jitted.explain()
    both = np.array([[1.0, -2.0], [-3.0, 4.0]])
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(both), [ad.grad(f)(x) for x in both], 1e-14)


def test_pieces_with_a_number_of_each_example():
    def f(x, w):
        return np.sum(np.piecewise(x, [x < 0], [lambda u: w, lambda u: u * w]))

    xs, ws = np.array([[1.0, -2.0, 3.0], [-3.0, 4.0, 5.0]]), np.array([2.0, 3.0])
    np.testing.assert_array_equal(ad.vmap(f)(xs, ws), [2 + 2 + 6, 3 + 12 + 15])
