"""What to write instead: by meaning, and true."""

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.errors import FormulaError
from simpleautodiff.program.formula import parse
from simpleautodiff.program.formula_hints import MEANINGS, OF_ARRAYS
from simpleautodiff.program.formula_names import FORMULA_FUNCTIONS

MEANT = {
    **{name: mpmath.cot for name in ("cot", "ctg", "cotan", "cotg")},
    **{name: mpmath.csc for name in ("csc", "cosec")},
    **{name: mpmath.coth for name in ("coth", "cth")},
    **{name: mpmath.acot for name in ("arccot", "acot", "arcctg", "arccotan")},
    **{name: mpmath.asec for name in ("arcsec", "asec")},
    **{name: mpmath.acsc for name in ("arccsc", "acsc")},
    **{name: mpmath.atan for name in ("arctg", "atg")},
    **{name: mpmath.asinh for name in ("arsinh", "arsh")},
    **{name: mpmath.acosh for name in ("arcosh", "arch")},
    **{name: mpmath.atanh for name in ("artanh", "arth")},
    **{name: mpmath.sin for name in ("sen", "seno", "sinus")},
    **{name: lambda x: x * x for name in ("sqr",)},
    **{name: lambda x: mpmath.mpf(x > 0) for name in ("heaviside", "step", "unitstep")},
    **{name: mpmath.factorial for name in ("factorial", "fact")},
    **{name: mpmath.sqrt for name in ("root", "sqroot", "racine")},
    **{name: mpmath.nint for name in ("round", "rnd")},
    **{name: lambda x: mpmath.mpf(int(x)) for name in ("int", "integer", "fix")},
    **{name: lambda x, y: mpmath.sqrt(x * x + y * y) for name in ("norm", "length")},
    **{"cosinus": mpmath.cos, "cube": lambda x: x**3, "fabs": mpmath.fabs, "sech": mpmath.sech},
    **{"lb": lambda x: mpmath.log(x, 2), "ld": lambda x: mpmath.log(x, 2), "lg": mpmath.log10},
    **{"nthroot": mpmath.root, "sec": mpmath.sec, "csch": mpmath.csch, "sh": mpmath.sinh},
    **{"ch": mpmath.cosh, "th": mpmath.tanh},
    **{"sum": lambda x, y: x + y, "prod": lambda x, y: x * y, "tangens": mpmath.tan},
}


@pytest.mark.parametrize("name", MEANINGS)
def test_what_is_proposed_means_the_same(name):
    assert name not in FORMULA_FUNCTIONS
    formula, names = parse(MEANINGS[name])
    point = dict(zip(names, (1.7, 2.5), strict=False))
    if name in ("artanh", "arth"):
        point = {"x": 0.3}
    if name == "nthroot":
        point = {"x": 8.0, "n": 3}
    expected = MEANT[name](*(point[key] for key in sorted(names, reverse="n" in names)))
    assert formula(*(point[key] for key in names)) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("cot(x)", "write 1/tan(x)"),
        ("1 + Sec(x)", "write 1/cos(x)"),
        ("loog(x)", "did you mean log?"),
        ("range(x)", "no function 'range'; Python's functions can be used in a function in a file"),
        ("sum(x)", "write x + y; for arrays, np.sum(x) in a function in a file, model.py:f"),
        ("mean(x)", "for arrays, np.mean(x) in a function in a file, model.py:f"),
        ("dot(x, y)", "for arrays, np.dot(x, y) in a function in a file, model.py:f"),
        ("norm(x)", "write hypot(x, y); for arrays, np.linalg.norm(x) in a function in a file"),
        ("x @ y", "operators of a formula are + - * / // % **; a function in a file, model.py:f"),
        ("~x", "signs of a formula are + and -; a function in a file, model.py:f"),
        ("x[0]", "no square brackets; a function in a file, model.py:f, may have them"),
        ("log(x, 2)", "write log(x)/log(b)"),
        ("lambda x: x**2 + 1", "write x**2 + 1"),
        ("f = lambda x: x*x; f", "write x*x"),
    ],
)
def test_a_refusal_says_what_to_write(text, instead):
    with pytest.raises(FormulaError) as error:
        parse(text)
    assert instead in str(error.value)


@pytest.mark.parametrize("call", OF_ARRAYS.values())
def test_what_is_proposed_for_arrays_can_be_differentiated_or_is_a_count(call):
    f = eval(f"lambda x, y: {call}", {"np": np})
    x, step = np.array([1.0, 2.0]), np.array([1e-6, 0.0])
    if call.startswith("np."):
        slopes = ad.jacfwd(f)(x, x + 1)
        differences = (np.ravel(f(x + step, x + 1)) - np.ravel(f(x - step, x + 1))) / 2e-6
        assert np.reshape(slopes, (-1, 2))[:, 0] == pytest.approx(differences, abs=1e-8)
    else:
        assert f(x, x) == 2


@pytest.mark.parametrize(("one", "other"), [("ln", "log"), ("arcsin", "asin"), ("tg", "tan")])
def test_other_names_are_read(one, other):
    first, second = parse(f"{one}(x)")[0], parse(f"{other}(x)")[0]
    assert first(0.5) == second(0.5)
