"""What to write instead: by meaning, and true."""

import mpmath
import pytest

from simpleautodiff.errors import FormulaError
from simpleautodiff.program.formula import FORMULA_FUNCTIONS, parse
from simpleautodiff.program.formula_hints import MEANINGS

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
        ("range(x)", "no function 'range'; Python's functions can be used in a function of a file"),
        ("log(x, 2)", "write log(x)/log(b)"),
        ("lambda x: x**2 + 1", "write x**2 + 1"),
        ("f = lambda x: x*x; f", "write x*x"),
    ],
)
def test_a_refusal_says_what_to_write(text, instead):
    with pytest.raises(FormulaError) as error:
        parse(text)
    assert instead in str(error.value)


@pytest.mark.parametrize(("one", "other"), [("ln", "log"), ("arcsin", "asin"), ("tg", "tan")])
def test_other_names_are_read(one, other):
    first, second = parse(f"{one}(x)")[0], parse(f"{other}(x)")[0]
    assert first(0.5) == second(0.5)
