"""What is printed is true: each printed equation is read again, computed, and compared.

The reader here is Python's own: the signs of a table are replaced by those of Python, and mpmath
computes what stands there with 40 digits. An equation is true if what its left side says, rounded
to the digits of the right side, is the right side.
"""

import math
import re
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simpleautodiff as ad
from simpleautodiff.display.notation.rich_text import show_minus
from simpleautodiff.errors import ArgumentError

WORDS = {
    "log": mpmath.log,
    "exp": mpmath.exp,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tanh": mpmath.tanh,
    "atan": mpmath.atan,
    "sqrt": mpmath.sqrt,
    "sech²": lambda x: mpmath.sech(x) ** 2,
    "√": mpmath.sqrt,
}


def compute(text, number=mpmath.mpf):
    """Compute a printed right-hand side with 40 digits, or with Python's floats."""
    code = text.replace("×", "*").replace("^", "**").replace("sech²", "sech2").replace("√", "sqrt")
    code = re.sub(r"\|([^|]*)\|", r"abs(\1)", code)
    code = re.sub(r"(?<![\w.])(\d+\.?\d*(?:e[+-]?\d+)?)", r"mpf('\1')", code)
    names = {**WORDS, "sech2": WORDS["sech²"], "mpf": number, "abs": abs}
    if number is float:
        names |= {"sin": math.sin, "cos": math.cos}
    return eval(code, {"__builtins__": {}}, names)


def unit(text):
    """Return one in the last digit of a printed number; zeros at the end were left out."""
    digits, _, power = text.partition("e")
    decimals = len(digits.partition(".")[2])
    return mpmath.mpf(10) ** (int(power or 0) - decimals)


def is_true(left, right):
    """Tell whether a reader agrees who computes exactly; or one who computes with floats.

    The latter is needed where all digits have cancelled: 0.30000000000000004 - 0.3 = 5.55e-17.
    """
    with mpmath.workdps(40):
        half = unit(right) * mpmath.mpf("0.5000001")
        readers = mpmath.mpf, float
        return any(abs(compute(left, number) - number(right)) <= half for number in readers)


def check(table):
    for row in table.rows:
        if row.numeric and row.result not in ("inf", "-inf", "nan"):
            assert is_true(row.numeric, row.result), f"{row.numeric} = {row.result}"


STEPS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a * a,
    lambda a, b: a**3,
    lambda a, b: ad.sin(a),
    lambda a, b: ad.cos(b),
    lambda a, b: ad.tanh(a),
    lambda a, b: ad.atan(b),
    lambda a, b: 0.044715 * a,
    lambda a, b: a - 1.0001,
]
NUMBERS = st.one_of(
    st.floats(0.001, 1000.0),
    st.floats(-10.0, -0.01),
    st.sampled_from([1.0001, 1.0002, 1e5, 1e-5, 1 / 3, 2.0, 5.0, 0.1, 123456.789]),
)


@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9), st.integers(0, 9)), min_size=1),
    NUMBERS,
    NUMBERS,
    st.sampled_from([None, 1, 2, 4, 6]),
)
@settings(max_examples=60, deadline=None)
def test_every_printed_equation_is_true(steps, x, y, digits):
    def f(x, y):
        known = [x, y]
        for step, i, j in steps[:12]:
            known.append(step(known[i % len(known)], known[j % len(known)]))
        return sum(known[2:])

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        program = ad.trace(f, x, y)
        values = [step.value for step in program.steps]
        if not all(1e-12 < abs(value) < 1e12 for value in values):
            return  # where floats themselves have lost all digits there is nothing to be true
        for table in (
            program.values(digits),
            program.tangents("x", digits=digits),
            program.tangents("y", digits=digits),
            program.adjoints(digits=digits),
        ):
            check(table)


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (lambda x, y: x - y, (1.0001, 1.0002)),
        (lambda x: ad.sin(x) * x, (1e5,)),
        (lambda x: ad.sin(x), (3.141592653589793,)),
        (lambda x, y: x + y - 0.3, (0.1, 0.2)),
        (lambda x: x / 3 + x / 3, (1.0,)),
        (lambda x: ad.sqrt(x * x + 1e-9), (0.00123,)),
    ],
)
def test_cancellation_and_size_do_not_make_it_false(f, at):
    program = ad.trace(f, *at)
    for table in (program.values(), program.tangents(), program.adjoints()):
        check(table)


def test_small_arrays_are_true_element_by_element():
    program = ad.trace(lambda x: np.sin(x) * x / 3, np.array([1 / 3, 0.5, 2.0]))
    for row in program.values().rows[1:-1]:
        shown = [
            re.findall(r"-?\d[\d.]*", part) for part in re.findall(r"\[([^]]*)\]", row.numeric)
        ]
        results = re.findall(r"-?\d[\d.]*", row.result.partition("[")[2])
        for k, result in enumerate(results):
            parts = iter([part[k] for part in shown])
            assert is_true(re.sub(r"\[[^]]*\]", lambda _, p=parts: next(p), row.numeric), result)


def test_inputs_are_written_as_they_were_typed():
    table = ad.trace(lambda x, y: x - y, 1.0001, 1.0002).values()
    assert [row.result for row in table.rows] == ["1.0001", "1.0002", "-0.0001", "-0.0001"]
    assert table.rows[2].numeric == "1.0001 - 1.0002"


def test_as_many_digits_as_a_float_keeps_are_written_as_they_were_typed():
    table = ad.trace(lambda x: x**2, 3.14159265358979).values()
    assert (table.rows[0].result, table.rows[1].numeric) == (
        "3.14159265358979",
        "3.14159265358979^2",
    )


def test_zero_times_an_infinite_slope_is_not_written_where_the_result_is_zero():
    """At x = 0 the slope of √x is infinite, but √x does not depend on y."""
    program = ad.trace(lambda x, y: ad.sqrt(x) * y, 0.0, 1.0)
    row = program.tangents("y").rows[2]
    assert (row.symbolic, row.numeric, row.result) == ("ẋ / (2 × v1)", "0", "0")
    assert "so its derivative is 0; so the derivative of v1 is 0" in program.explain("v1", wrt="y")
    assert program.tangents("x").rows[2].numeric == "1 / (2 × 0)"  # where it does, it is inf


@pytest.mark.parametrize(
    ("f", "text", "latex"),
    [
        (lambda x: x**2, "(2.5e-07)^2", r"(2.5 \times 10^{-7})^{2}"),
        (lambda x: 3 / x, "3 / 2.5e-07", r"3 / (2.5 \times 10^{-7})"),
        (lambda x: ad.sin(x), "sin(2.5e-07)", r"\sin (2.5 \times 10^{-7})"),
        (lambda x: (x * 4e6) ** 2 * x, "1 × 2.5e-07", r"1 \times (2.5 \times 10^{-7})"),
    ],
)
def test_powers_of_ten_are_numbers_in_formulas(f, text, latex):
    program = ad.trace(f, 2.5e-7)
    table = program.values()
    assert table.rows[-2].numeric == text
    assert f"$= {latex}$" in table.to("latex")
    assert f"= {latex}$" in program.figure(show="values").tikz()


def test_the_paper_keeps_its_three_decimals():
    table = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5).values()
    assert table.rows[-2].numeric == "10.693 - (-0.959)"
    assert table.rows[-2].result == "11.652"


def test_digits_are_chosen_within_reason():
    program = ad.trace(lambda x: ad.sin(x), 1.0)
    assert program.values(digits=6).rows[1].result == "0.841471"
    for wrong in (0, 18, 2.5, True):
        with pytest.raises(ArgumentError, match="digits is an integer from 1 to 17"):
            program.values(digits=wrong)


def test_words_steps_and_figures_show_the_rows_of_the_tables():
    program = ad.trace(lambda x, y: ad.log(x) * y + x / y, 1 / 3, 0.7)
    for mode, tables in (
        ("forward", (program.values(), program.tangents("x"))),
        ("reverse", (program.values(), program.adjoints())),
    ):
        stepper = program.step(mode=mode, wrt="x" if mode == "forward" else "")
        told = {stepper.tell(event) for event in stepper.events}
        for table in tables:
            for row in table.rows:
                if row.numeric:
                    line = f"{row.name} = {row.symbolic} = {row.numeric} = {row.result}"
                    assert show_minus(line) in told
    drawn = program.figure(show="values").text()
    for row in program.values().rows:
        assert show_minus(f"= {row.numeric}") in drawn


def test_words_are_true():
    program = ad.trace(lambda x: ad.sin(x) * x / 3, 1e5)
    for step in program.steps:
        for sentence in program.explain(step.name).replace("−", "-").splitlines()[1:]:
            found = re.search(r"(?:; |= )([^=;]*\d[^=;]*) = (-?[\d.e+-]*\d)\.$", sentence)
            if found and not re.search(r"[v-z]", found[1]):
                assert is_true(*found.groups()), sentence


def test_a_number_given_to_every_element_gets_the_sum():
    """The derivative with respect to what was broadcast is a sum, and is written as one."""
    program = ad.trace(lambda w, b: np.sum((w * b) ** 2), np.array([1.0, 2.0, 3.0]), 0.5)
    row = next(row for row in program.adjoints().rows if row.name == "b̄")
    assert row.symbolic == "sum(v̄1 × w)"
    assert row.numeric == "sum([1, 2, 3] × [1, 2, 3])"
    assert row.result == "14"  # ∂ Σ (w b)² / ∂b = 2 b Σ w² = 14


def test_what_a_sweep_prints_is_true(capsys):
    x, y = ad.Node(1 / 3), ad.Node(1e5)
    ad.forward(x, verbose=True)
    z = ad.sub(ad.mul(ad.sin(y), x), ad.div(x, y))
    ad.forward(x, verbose=True)
    ad.reverse(z, verbose=True)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    sums = [line.removeprefix("= ") for line in lines if line.startswith("= (")]
    assert len(sums) > 5
    for line in sums:
        left, _, right = line.rpartition(" = ")
        assert is_true(left.replace(")(", ") * ("), right), line


@pytest.mark.parametrize("f", [lambda x, y: ad.sin(x) * x + y, lambda x, y: (x - y) * (x * y) / 3])
def test_what_elimination_prints_is_true(f):
    grid = ad.eliminate(f, 1e5, 1.0002).to("markdown").splitlines()
    cells = [line.replace("−", "-").strip("|").split("|") for line in grid if "×" in line]
    for *_, numbers, value in cells:
        assert is_true(numbers, value.strip()), f"{numbers} = {value}"
    assert len(cells) > 1


def read_complex(text):
    """Compute a printed right-hand side that has complex numbers and real parts."""
    code = re.sub(r"(\d)i\b", r"\1j", text.replace("×", "*").replace("^", "**"))
    return eval(code, {"__builtins__": {}}, {"Re": lambda z: complex(z).real})


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (lambda x, y: x * y, (1 + 2j, 3.0)),
        (lambda x, y: x * x * y, (1 + 2j, 3.0)),
        (lambda x, y: 1j * x + y * (2 - 1j), (3.0, 2.0)),
        (lambda x, y: (x * -2j) * (y * 1j), (3.0, 2.0)),
    ],
)
def test_the_adjoint_of_a_real_number_is_written_as_a_real_part(f, at):
    """Of z = x y with a real y, ∂(Re z)/∂y is the real part of x, and is not written as x."""
    program = ad.trace(f, *at)
    for table in (program.values(), program.tangents("x"), program.adjoints()):
        for row in table.rows:
            if row.numeric:
                assert read_complex(row.numeric) == read_complex(row.result), row
    words = program.explain(program.names[program.inputs[1]]).splitlines()[-1]
    assert "= Re(" in words


def test_imaginary_numbers_need_no_real_part_and_no_parentheses():
    row = ad.trace(lambda x: (1j * x) ** 2, np.array([1.0, 2.0])).values().rows
    assert (row[1].symbolic, row[1].numeric) == ("1i × x", "1i × [1, 2]")
    assert row[2].numeric == "[1i, 2i]^2"
    assert ad.trace(lambda x: x**2, -2j).values().rows[1].numeric == "(-2i)^2"


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_other_libraries_are_written_as_those_of_numpy(library):
    other = pytest.importorskip(library, reason=f"needs {library.partition('.')[0]}")
    kept = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    programs = [ad.trace(lambda x: ad.sin(x) * x, x) for x in (kept, other.asarray(kept))]
    for ours, others in zip(*[(p.values(), p.adjoints()) for p in programs], strict=True):
        assert str(ours) == str(others)
    stepper = programs[1].step(mode="reverse")
    stepper.run()
    for x in (programs[1].adjoints()["x"], stepper.result()["x"]):
        assert type(x) is type(other.asarray(kept))
        assert np.allclose(x, np.cos(kept) * kept + np.sin(kept), rtol=1e-6)
    assert "Foreign" not in repr(ad.Node(other.asarray(kept)))


def test_lazy_arrays_are_shown_without_being_computed():
    dask = pytest.importorskip("dask.array", reason="needs dask")
    x = dask.from_array(np.ones((4, 3)), chunks=2)
    row = ad.trace(lambda x: np.sin(x) * x, x).values().rows[2]
    assert (row.numeric, row.result) == ("dask(4, 3) × dask(4, 3)", "dask float64(4, 3)")
