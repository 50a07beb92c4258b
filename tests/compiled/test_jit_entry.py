"""From Python into compiled code: what fits is computed, what does not takes the slow way."""

import copy
import ctypes
import gc
import inspect
import itertools
import math
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

from simpleautodiff.compiled.backends.llvm.python_entry import (
    Array,
    Number,
    arrays_entry,
    declarations,
    entry_names,
    floats_entry,
)
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.native.callable import CallSlot, quick
from simpleautodiff.compiled.native.object_offsets import layout
from simpleautodiff.compiled.native.threads import batch_call, run_threads

GRADIENT = """
declare double @cos(double)
define internal void @gradient(ptr %in, ptr %out) alwaysinline {
  %second = getelementptr double, ptr %in, i64 1
  %x = load double, ptr %in
  %y = load double, ptr %second
  %r = fdiv double 1.0, %x
  %gx = fadd double %r, %y
  %c = call double @cos(double %y)
  %gy = fsub double %x, %c
  %other = getelementptr double, ptr %out, i64 1
  store double %gx, ptr %out
  store double %gy, ptr %other
  ret void
}
define internal void @of_array(ptr %in, ptr %out) alwaysinline {
  %x = load ptr, ptr %in
  %y = load ptr, ptr %out
  call void @gradient(ptr %x, ptr %y)
  ret void
}
"""


def gradient(x, y):
    return 1 / x + y, x - math.cos(y)


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")


@quick
class Called(CallSlot):
    """What is called here."""

    def explain(self):
        return "explained"

    def __reduce__(self):
        return make, (self._slow,)


def slow(*args, **kwargs):
    return "slow", args, kwargs


def make(slow_way=slow):
    return Called(slow_way)


def built(text, *names, level=1):
    exported = [exported for name in names for exported in entry_names(name)]
    return engine.build(text, level=level, names=exported)


def called(text, level=1, slow_way=slow):
    """A function with the one entry `f` of a text."""
    function = make(slow_way)
    function.point_to((built(text, "f", level=level), "f"))
    return function


def paper(level=1, structure=None):
    return called(declarations() + GRADIENT + floats_entry("f", "gradient", 2, 2, structure), level)


def copies(count, shift=0):
    """A body that copies numbers from one table to the other, `shift` places further."""
    return f"""
define internal void @body(ptr %in, ptr %out) {{
  %from = getelementptr double, ptr %in, i64 {shift}
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %from, i64 {8 * count}, i1 false)
  ret void
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


@pytest.mark.parametrize("level", [0, 1, 2])
def test_floats_in_a_tuple_of_floats_out(level):
    found = paper(level)(2.0, 5.0)
    assert type(found) is tuple
    assert [type(number) for number in found] == [float, float]
    assert found == pytest.approx(gradient(2.0, 5.0), rel=1e-15)


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        (0, 1.0),
        (2, 3.0),
        ((), ()),
        ((0,), (1.0,)),
        ((2, 0), (3.0, 1.0)),
        ((0, (1, 2)), (1.0, (2.0, 3.0))),
        (((0,), (), ((1,), 2)), ((1.0,), (), ((2.0,), 3.0))),
        ((0, 0, 0), (1.0, 1.0, 1.0)),
    ],
)
def test_results_have_the_structure_that_was_asked_for(structure, expected):
    text = declarations() + copies(3) + floats_entry("f", "body", 3, 3, structure)
    assert called(text)(1.0, 2.0, 3.0) == expected


@pytest.mark.parametrize("count", [1, 7, 8, 9, 40, 1000])
@pytest.mark.parametrize("level", [0, 1])
def test_any_number_of_floats(count, level):
    text = declarations() + copies(count)
    function = called(text + floats_entry("f", "body", count, count), level)
    numbers = [float(number) for number in range(count)]
    assert function(*numbers) == tuple(numbers)
    for at in {0, count // 2, count - 1}:
        wrong = [*numbers[:at], 1, *numbers[at + 1 :]]
        assert function(*wrong) == ("slow", tuple(wrong), {})


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((2.0,), {}),
        ((2.0, 5.0, 1.0), {}),
        ((2, 5.0), {}),
        ((2.0, np.float64(5.0)), {}),
        ((2.0, "5"), {}),
        ((None, 5.0), {}),
        ((True, 5.0), {}),
        ((2.0, 5.0j), {}),
        ((2.0,), {"y": 5.0}),
        ((2.0, 5.0), {"out": None}),
        ((2.0, [5.0]), {}),
    ],
)
def test_what_does_not_fit_takes_the_slow_way(args, kwargs):
    assert paper()(*args, **kwargs) == ("slow", args, kwargs)


def test_subclasses_of_float_take_the_slow_way():
    class Length(float):
        pass

    assert paper()(2.0, Length(5.0))[0] == "slow"


def test_errors_of_the_slow_way_arrive():
    def refuse(*args):
        raise ValueError("refused")

    text = declarations() + GRADIENT + floats_entry("f", "gradient", 2, 2)
    with pytest.raises(ValueError, match="refused"):
        called(text, slow_way=refuse)(1)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 5e-324, -0.0, 1.7e308])
def test_special_numbers_arrive_unchanged(number):
    function = called(declarations() + copies(1) + floats_entry("f", "body", 1, 1, 0))
    assert np.float64(function(number)).tobytes() == np.float64(number).tobytes()


NESTED = ((0,), (), ((1,), 2))


@pytest.mark.parametrize("structure", [0, (0, 1, 2), (0, (1, 2)), NESTED])
@pytest.mark.parametrize("level", [0, 1])
def test_results_that_are_held_stay_as_they_are(structure, level):
    text = declarations() + copies(3) + floats_entry("f", "body", 3, 3, structure)
    function = called(text, level)

    def expected(part, first):
        if isinstance(part, tuple):
            return tuple([expected(inner, first) for inner in part])
        return (first, 2.0, 3.0)[part]

    held = [function(float(first), 2.0, 3.0) for first in range(5)]
    assert held == [expected(structure, float(first)) for first in range(5)]
    assert len({id(result) for result in held}) == 5
    last = None
    for first in range(20):  # a result is held until the next one is there
        before, last = last, function(float(first), 2.0, 3.0)
        assert last == expected(structure, float(first))
        assert before is None or before == expected(structure, float(first - 1))
    for first in range(5):  # nothing is held
        assert function(float(first), 2.0, 3.0) == expected(structure, float(first))
    assert held == [expected(structure, float(first)) for first in range(5)]


@pytest.mark.parametrize("count", [3, 40])
def test_floats_and_inner_tuples_that_are_held_stay_as_they_are(count):
    structure = (0, (1, *range(2, count)))
    text = declarations() + copies(count) + floats_entry("f", "body", count, count, structure)
    function = called(text)
    values, gradients, numbers = [], [], []
    for first in range(6):
        value, gradient_ = function(*[float(first + at) for at in range(count)])
        values.append(value)
        numbers.append(gradient_[-1])
        if first % 2:
            gradients.append(gradient_)
    assert values == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert numbers == [first + count - 1.0 for first in range(6)]
    expected = [tuple(float(first + at) for at in range(1, count)) for first in (1, 3, 5)]
    assert gradients == expected


def test_results_are_dictionary_keys_that_stay():
    function = called(declarations() + copies(2) + floats_entry("f", "body", 2, 2))
    kept = {function(float(at), 0.5): at for at in range(10)}
    assert [kept[float(at), 0.5] for at in range(10)] == [*range(10)]


def test_a_result_outlives_its_function():
    function = called(declarations() + copies(2) + floats_entry("f", "body", 2, 2))
    result, (again, other) = function(1.5, 2.5), function(3.5, 4.5)
    del function
    gc.collect()
    assert (result, again, other) == ((1.5, 2.5), 3.5, 4.5)


def test_results_nobody_holds_are_filled_again():
    function = called(declarations() + copies(2) + floats_entry("f", "body", 2, 2))
    places, others = set(), []
    for at in range(50):
        places.add(id(function(float(at), 0.5)))
        others.append((float(at), 1.0))  # takes the memory of a tuple that was dropped
    assert len(places) <= 2


GUARDED = """
define internal i32 @ROOT(ptr %in, ptr %out) alwaysinline {
  %x = load double, ptr %in
  %is = fcmp COMPARE double %x, 0.0
  %y = fmul double %x, FACTOR
  store double %y, ptr %out
  %fits = select i1 %is, i32 0, i32 1
  ret i32 %fits
}
"""


def path(name, compare, factor, outputs):
    body = GUARDED.replace("ROOT", f"{name}.body").replace("COMPARE", compare)
    body = body.replace("FACTOR", factor)
    return body + floats_entry(name, f"{name}.body", 1, 1, outputs, guarded=True)


@pytest.mark.parametrize("outputs", [0, (0,), ((0,), 0)])
def test_a_guard_that_fails_leads_to_the_next_entry_and_then_to_the_slow_way(outputs):
    text = declarations() + path("up", "ogt", "2.0", outputs) + path("down", "olt", "-3.0", outputs)
    code = built(text, "up", "down")
    function = make()
    expected = {0: lambda x: x, (0,): lambda x: (x,)}.get(outputs, lambda x: ((x,), x))
    for entries in (["up", "down"], ["down", "up"]):
        function.point_to(*((code, name) for name in entries))
        assert function(5.0) == expected(10.0)
        assert function(-5.0) == expected(15.0)
        assert function(0.0)[0] == function(math.nan)[0] == function(1)[0] == "slow"
    function.point_to((code, "down"))
    assert function(5.0)[0] == "slow"
    assert function(-5.0) == expected(15.0)
    function.point_to()
    assert function(-5.0)[0] == "slow"


def arrays(inputs, outputs, structure, body="of_array"):
    text = declarations(arrays=True) + GRADIENT
    return text + arrays_entry("f", body, inputs, outputs, structure)


PAIR = Array("float64", (2,))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_array_in_new_array_out(level):
    function = called(arrays([PAIR], [PAIR], 0), level)
    x = np.array([2.0, 5.0])
    first, second = function(x), function(x)
    assert first is not second
    assert not np.shares_memory(first, second)
    assert type(first) is np.ndarray
    assert first.dtype == np.float64
    assert first.flags.owndata
    assert first.flags.writeable
    np.testing.assert_allclose(first, gradient(*x), rtol=1e-15)


def test_a_result_that_stands_in_two_places_is_one_array():
    function = called(arrays([PAIR], [PAIR], (0, (0,))))
    x = np.array([2.0, 5.0])
    first, (second,) = function(x)
    assert first is second
    np.testing.assert_allclose(first, gradient(*x), rtol=1e-15)


def test_an_array_without_a_place_is_refused():
    with pytest.raises(ValueError, match="has no place"):
        arrays([PAIR], [PAIR, PAIR], (0,))


def odd_arrays():
    class Sub(np.ndarray):
        pass

    pair = np.array([2.0, 5.0])
    unaligned = np.frombuffer(b"\0" + pair.tobytes(), np.uint8)[1:].view(np.float64)
    return {
        "float32": pair.astype(np.float32),
        "whole numbers": pair.astype(np.int64),
        "complex": pair.astype(complex),
        "swapped bytes": pair.astype(">f8"),
        "strided": np.repeat(pair, 2)[::2],
        "reversed": pair[::-1],
        "unaligned": unaligned,
        "subclass": pair.view(Sub),
        "masked": np.ma.array(pair),
        "shorter": pair[:1],
        "longer": np.ones(3),
        "empty": np.ones(0),
        "two axes": pair[None],
        "no axis": np.array(2.0),
        "objects": pair.astype(object),
        "a list": [2.0, 5.0],
        "a number": 2.0,
        "None": None,
    }


@pytest.mark.parametrize("name", odd_arrays())
def test_arrays_that_do_not_fit_take_the_slow_way(name):
    odd = odd_arrays()[name]
    way, args, _ = called(arrays([PAIR], [PAIR], 0))(odd)
    assert way == "slow"
    assert args[0] is odd


def test_read_only_arrays_fit():
    x = np.array([2.0, 5.0])
    x.flags.writeable = False
    np.testing.assert_allclose(called(arrays([PAIR], [PAIR], 0))(x), gradient(*x), rtol=1e-15)


MIXED = """
define internal void @mixed(ptr %in, ptr %out) {
  %a = load ptr, ptr %in
  %pb = getelementptr ptr, ptr %in, i64 1
  %b = load ptr, ptr %pb
  %pc = getelementptr ptr, ptr %in, i64 2
  %c = load ptr, ptr %pc
  %r = load ptr, ptr %out
  %ps = getelementptr ptr, ptr %out, i64 1
  %s = load ptr, ptr %ps
  %pt = getelementptr ptr, ptr %out, i64 2
  %t = load ptr, ptr %pt
  %pu = getelementptr ptr, ptr %out, i64 3
  %u = load ptr, ptr %pu
  %number = load double, ptr %a
  %single = load float, ptr %b
  store double %number, ptr %r
  store float %single, ptr %s
  store double %number, ptr %t
  call void @llvm.memcpy.p0.p0.i64(ptr %u, ptr %c, i64 24, i1 false)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def mixed(level=1):
    inputs = [Number(), Number("float32"), Array("float32", (2, 3))]
    outputs = [Number("float64"), Number("float32"), Number(), Array("float32", (3, 2))]
    text = declarations(arrays=True) + MIXED
    return called(text + arrays_entry("f", "mixed", inputs, outputs, (0, (1, 3), 2)), level)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_numbers_and_arrays_of_all_kinds_together(level):
    function = mixed(level)
    c = np.arange(6, dtype=np.float32).reshape(2, 3)
    first, (second, fourth), third = function(1.5, np.float32(0.1), c)
    assert [type(x) for x in (first, second, third)] == [np.float64, np.float32, float]
    assert (first, second, third) == (1.5, np.float32(0.1), 1.5)
    assert (fourth.dtype, fourth.shape) == (np.float32, (3, 2))
    np.testing.assert_array_equal(fourth.ravel(), c.ravel())
    assert function(1.5, 0.1, c)[0] == "slow"
    assert function(np.float64(1.5), np.float32(0.1), c)[0] == "slow"
    assert function(1.5, np.float32(0.1), c.T)[0] == "slow"


def blocks_and_references(function, args, times):
    """What is left over after many calls: allocated bytes, and references to the arguments."""
    for _ in range(1000):
        function(*args)
    gc.collect()
    before = [sys.getrefcount(arg) for arg in args], sys.getrefcount(np.dtype(np.float32))
    tracemalloc.start()
    try:
        start = tracemalloc.get_traced_memory()[0]
        for _ in itertools.repeat(None, times):
            function(*args)
        gc.collect()
        left = tracemalloc.get_traced_memory()[0] - start
    finally:
        tracemalloc.stop()
    after = [sys.getrefcount(arg) for arg in args], sys.getrefcount(np.dtype(np.float32))
    return left, before == after


def with_a_failing_guard():
    function = make(lambda *args: None)
    function.point_to((built(declarations() + path("up", "ogt", "2.0", (0, (0,))), "up"), "up"))
    return function


CALLS = {
    "floats": lambda: (paper(), (2.0, 5.0)),
    "one float": lambda: (paper(structure=0), (2.0, 5.0)),
    "nested": lambda: (paper(structure=(0, (1,))), (2.0, 5.0)),
    "array": lambda: (called(arrays([PAIR], [PAIR], 0)), (np.array([2.0, 5.0]),)),
    "array in a tuple": lambda: (called(arrays([PAIR], [PAIR], (0,))), (np.array([2.0, 5.0]),)),
    "array twice": lambda: (called(arrays([PAIR], [PAIR], (0, 0))), (np.array([2.0, 5.0]),)),
    "slow": lambda: (called(arrays([PAIR], [PAIR], 0), slow_way=lambda *args: None), (3,)),
    "failed guard": lambda: (with_a_failing_guard(), (-1.0,)),
    "mixed": lambda: (mixed(), (1.5, np.float32(0.1), np.ones((2, 3), np.float32))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("quiet")
def test_calls_leave_nothing_behind(name):
    left, same = blocks_and_references(*CALLS[name](), 100_000)
    assert left < 20_000
    assert same


def test_without_code_the_slow_way_is_taken():
    function = make()
    assert function(1, k=2) == ("slow", (1,), {"k": 2})


def test_it_is_an_object_with_attributes():
    function = paper()
    function.__wrapped__ = gradient
    function.__name__, function.__doc__ = "gradient", "The gradient."
    assert function.explain() == "explained"
    assert isinstance(function, CallSlot)
    assert callable(function)
    assert inspect.signature(function) == inspect.signature(gradient)
    assert Called.__name__ == "Called"
    assert Called.__doc__ == "What is called here."
    assert function.__doc__ == "The gradient."
    assert list(map(function, [2.0], [5.0])) == [pytest.approx(gradient(2.0, 5.0))]
    assert function(*[2.0, 5.0]) == function(2.0, 5.0)
    assert function(2.0, **{"y": 5.0}) == ("slow", (2.0,), {"y": 5.0})


def test_it_can_be_pickled_and_copied():
    function = paper()
    for other in (pickle.loads(pickle.dumps(function)), copy.copy(function)):
        assert type(other) is Called
        assert other(2.0, 5.0) == ("slow", (2.0, 5.0), {})


def test_it_goes_with_its_code_when_the_last_name_goes():
    function = paper()
    code, itself = weakref.ref(next(iter(function._codes))), weakref.ref(function)
    gc.disable()
    try:
        del function
        assert itself() is None
        assert code() is None
    finally:
        gc.enable()


def test_a_circle_is_collected():
    function = paper()
    function.itself = function
    itself = weakref.ref(function)
    del function
    gc.collect()
    assert itself() is None


def test_threads_call_while_the_code_is_changed():
    text = declarations() + path("up", "ogt", "2.0", 0) + path("down", "olt", "-3.0", 0)
    codes = [built(text, "up", "down", level=level) for level in (0, 1, 2)]
    function = make(lambda x: abs(x) * (2 if x > 0 else 3))
    stop = threading.Event()
    wrong, calls = [], []

    def call(number):
        expected = abs(number) * (2 if number > 0 else 3)
        count = 0
        while not stop.is_set():
            found = {function(number) for _ in range(100)}
            wrong.extend(found - {expected})
            count += 100
        calls.append(count)

    threads = [threading.Thread(target=call, args=(float(i) - 3.5,)) for i in range(8)]
    for thread in threads:
        thread.start()
    ways = [[], ["up"], ["down"], ["up", "down"], ["down", "up"]]
    for round_ in range(300):
        code = codes[round_ % 3]
        function.point_to(*((code, name) for name in ways[round_ % 5]))
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(calls) == 8
    assert len(function._codes) == 3


def test_a_compiled_function_may_call_itself_through_the_slow_way():
    text = declarations() + path("f", "ole", "0.0", 0)
    names = []

    def down(x):
        return names[0](float(x) - 1.0) + 1.0

    names.append(called(text, slow_way=down))
    assert names[0](50.0) == 50.0
    names.clear()


def test_a_recursion_without_end_is_an_error_not_a_crash():
    names = []
    names.append(make(lambda *args: names[0](*args)))
    text = declarations() + GRADIENT + floats_entry("f", "gradient", 2, 2)
    names[0].point_to((built(text, "f"), "f"))
    with pytest.raises(RecursionError):
        names[0](1)
    names.clear()


def test_known_objects_confirm_the_layout():
    known = layout()
    pair = (1.25, 2.5)
    first = ctypes.c_size_t.from_address(id(pair) + known.items).value
    assert ctypes.c_double.from_address(first + known.float64).value == 1.25


ROWS = """
define void @rows(i64 %start, i64 %stop, ptr %x) {
entry:
  %any = icmp slt i64 %start, %stop
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [%start, %entry], [%next, %loop]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %w = fadd double %v, 1.0
  store double %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %stop
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 1000, 1003])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("step", [1, 8])
def test_every_row_is_done_once(rows, threads, step):
    code = engine.build(ROWS, level=1, names=["rows"])
    numbers = np.arange(rows, dtype=float)
    kernel = batch_call(code.address("rows"))
    run_threads(kernel, rows, numbers.ctypes.data, threads, step)
    np.testing.assert_array_equal(numbers, np.arange(rows) + 1.0)


def test_threads_work_after_a_fork_too():
    program = """
import os
from simpleautodiff.compiled.native.threads import run_threads
def run():
    done = []
    run_threads(lambda start, stop, _: done.append(stop - start), 100, 0, threads=2)
    return sum(done)
before = run()
child = os.fork()
if child == 0:
    os._exit(0 if run() == 100 else 1)
print(before, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    command = [sys.executable, "-W", "ignore", "-c", program]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert answer.stdout.split() == ["100", "0"], answer.stderr


WAITS = """
define internal void @wait(ptr %in, ptr %out) {
  %flag = load ptr, ptr %in
  %result = load ptr, ptr %out
  br label %look
look:
  %value = load volatile double, ptr %flag
  %still = fcmp oeq double %value, 0.0
  br i1 %still, label %look, label %done
done:
  store double %value, ptr %result
  ret void
}
"""


def test_an_unlocked_entry_lets_other_threads_run():
    text = declarations(arrays=True) + WAITS
    text += arrays_entry("f", "wait", [Array("float64", (1,))], [Number()], 0, unlocked=True)
    flag, found = np.zeros(1), []
    waiting = threading.Thread(target=lambda: found.append(called(text)(flag)))
    waiting.start()
    waiting.join(0.05)
    assert not found  # it waits for this thread, which runs
    flag[0] = 7.0
    waiting.join()
    assert found == [7.0]


@pytest.mark.parametrize("rows", range(40))
def test_parts_begin_at_multiples_of_the_step(rows):
    parts = []
    run_threads(lambda start, stop, _: parts.append((start, stop)), rows, 0, threads=3, step=8)
    assert all(start % 8 == 0 for start, _ in parts)
    assert [row for part in sorted(parts) for row in range(*part)] == list(range(rows))
    assert len(parts) <= 3


def with_out(level=1):
    text = declarations(arrays=True) + GRADIENT
    return called(text + arrays_entry("f", "of_array", [PAIR], [PAIR], 0, out=True), level)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_result_is_put_into_the_array_that_is_given(level):
    function, x, out = with_out(level), np.array([2.0, 5.0]), np.zeros(2)
    before = sys.getrefcount(out)
    assert function(x, out=out) is out
    assert out == pytest.approx(gradient(2.0, 5.0), rel=1e-15)
    assert sys.getrefcount(out) == before
    new = function(x)
    assert new is not out
    np.testing.assert_array_equal(new, out)


def test_arrays_that_cannot_be_filled_take_the_slow_way():
    function, x = with_out(), np.array([2.0, 5.0])
    shared = np.zeros(4)
    shared[:2] = x
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    others = [np.zeros(3), np.zeros(2, np.float32), np.zeros((1, 2)), np.zeros(4)[::2], fixed, None]
    for out in others:
        assert function(x, out=out)[0] == "slow"
    assert function(x, out=x)[0] == "slow"  # it is read while the result is written
    assert function(shared[:2], out=shared[1:3])[0] == "slow"
    assert function(x, into=np.zeros(2))[0] == "slow"
    assert function(x, out=np.zeros(2), more=1)[0] == "slow"
    assert function(out=np.zeros(2))[0] == "slow"
    beside = shared[2:]
    assert function(shared[:2], out=beside) is beside


def test_a_name_that_is_made_while_the_program_runs_is_known():
    function, x, out = with_out(), np.array([2.0, 5.0]), np.zeros(2)
    name = "".join(["o", "u", "t"])
    answer = function(x, **{name: out})
    assert answer is out or answer[0] == "slow"  # never anything else
