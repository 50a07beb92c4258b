"""What to write instead: names, signs and parts of Python that a formula does not have."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterable

IN_FILE = "a function in a file, model.py:f"  # which may contain all that a formula may not
SIGN_HINTS = {
    **dict.fromkeys("²³⁴⁵⁶⁷⁸⁹⁰¹ⁿˣ", "use ** for powers"),
    **{"π": "write pi", "√": "write sqrt(...)", "∞": "there is no infinity in a formula"},
    **{"“": "a formula has no quotes", "”": "a formula has no quotes", "½": "write 1/2"},
}
MEANINGS = {  # functions by the names of other fields and languages -> the same in a formula
    **dict.fromkeys(("cot", "ctg", "cotan", "cotg"), "1/tan(x)"),
    **dict.fromkeys(("csc", "cosec"), "1/sin(x)"),
    **dict.fromkeys(("coth", "cth"), "1/tanh(x)"),
    **dict.fromkeys(("arccot", "acot", "arcctg", "arccotan"), "atan(1/x)"),
    **dict.fromkeys(("arcsec", "asec"), "acos(1/x)"),
    **dict.fromkeys(("arccsc", "acsc"), "asin(1/x)"),
    **dict.fromkeys(("arctg", "atg"), "atan(x)"),
    **dict.fromkeys(("arsinh", "arsh"), "asinh(x)"),
    **dict.fromkeys(("arcosh", "arch"), "acosh(x)"),
    **dict.fromkeys(("artanh", "arth"), "atanh(x)"),
    **dict.fromkeys(("sen", "seno"), "sin(x)"),
    "sqr": "x**2",
    **dict.fromkeys(("heaviside", "step", "unitstep"), "(1 + sign(x))/2"),
    **dict.fromkeys(("factorial", "fact"), "gamma(x + 1)"),
    **dict.fromkeys(("root", "sqroot", "racine"), "sqrt(x)"),
    **dict.fromkeys(("round", "rnd"), "rint(x)"),
    **dict.fromkeys(("int", "integer", "fix"), "trunc(x)"),
    **dict.fromkeys(("norm", "length"), "hypot(x, y)"),
    "cosinus": "cos(x)",
    "cube": "x**3",
    "fabs": "abs(x)",
    "lb": "log2(x)",
    "ld": "log2(x)",
    "lg": "log10(x)",
    "nthroot": "x**(1/n)",
    "sec": "1/cos(x)",
    "sech": "1/cosh(x)",
    "csch": "1/sinh(x)",
    "sh": "sinh(x)",
    "ch": "cosh(x)",
    "th": "tanh(x)",
    "sinus": "sin(x)",
    "sum": "x + y",
    "prod": "x*y",
    "tangens": "tan(x)",
}
OF_ARRAYS = {  # functions of arrays -> what they are in NumPy
    **{name: f"np.{name}(x)" for name in ("sum", "prod", "mean", "std", "var", "cumsum")},
    **{name: f"np.{name}(x, y)" for name in ("dot", "inner", "outer", "matmul")},
    **dict.fromkeys(("average", "avg"), "np.mean(x)"),
    "norm": "np.linalg.norm(x)",
    "len": "len(x)",
}
REFUSALS: dict[type[ast.AST], str] = {
    ast.Attribute: "a formula has no dots in its names",
    ast.Subscript: f"a formula has no square brackets; {IN_FILE}, may have them",
    ast.List: f"a formula has no square brackets; {IN_FILE}, may have them",
    ast.Tuple: "a formula has one result; the decimal point is a dot",
    ast.Compare: "a formula is a number: it compares nothing; see maximum and minimum",
    ast.IfExp: "a formula has no conditions; see maximum and minimum",
    ast.BoolOp: "a formula has no conditions; see maximum and minimum",
    ast.Constant: "only real numbers are read",
    ast.Import: "a formula imports nothing",
    ast.ImportFrom: "a formula imports nothing",
    ast.For: f"a formula has no loops; {IN_FILE}, may have them",
    ast.While: f"a formula has no loops; {IN_FILE}, may have them",
    ast.If: "a formula has no conditions; see maximum and minimum",
    ast.Assign: "one name stands before each =",
    ast.BinOp: f"the operators of a formula are + - * / // % **; {IN_FILE}, may have others",
    ast.UnaryOp: f"the signs of a formula are + and -; {IN_FILE}, may have others",
}


def suggest_function(name: str, known: Iterable[str]) -> str:
    """Say what to write instead of a function that is not known; nothing if there is no telling.

    Examples
    --------
    >>> suggest_function("cot", ["cos", "tan"]), suggest_function("loog", ["log"])
    ('; write 1/tan(x)', '; did you mean log?')
    >>> suggest_function("range", ["tandg"])
    "; Python's functions can be used in a function in a file, model.py:f"
    >>> suggest_function("sum", ["sub"])
    '; write x + y; for arrays, np.sum(x) in a function in a file, model.py:f'
    """
    meaning, of_arrays = MEANINGS.get(name.lower()), OF_ARRAYS.get(name.lower())
    if meaning or of_arrays:
        instead = f"; write {meaning}" if meaning else ""
        return instead + (f"; for arrays, {of_arrays} in {IN_FILE}" if of_arrays else "")
    if hasattr(builtins, name):
        return f"; Python's functions can be used in {IN_FILE}"
    near = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def suggest_parts(name: str, variables: Iterable[str], functions: Iterable[str]) -> str:
    """Say what a name is made of, where a sign was left out; nothing if there is no telling.

    Examples
    --------
    >>> suggest_parts("xy", ["x", "y"], ["sin"]), suggest_parts("sinx", ["x"], ["sin"])
    ('; for a product write x*y', '; write sin(x)')
    """
    known, calls = set(variables), set(functions)
    for k in range(1, len(name)):
        first, second = name[:k], name[k:]
        if second in known and first in calls:
            return f"; write {first}({second})"
        if second in known and first in known:
            return f"; for a product write {first}*{second}"
    return ""


def simplify_message(message: str) -> str:
    """Return the message of Python's parser without its guesses at what was meant."""
    if "integer" in message and "limit" in message:
        return "the number is too large"
    if message.startswith("cannot assign"):
        return "only a name can stand before ="
    return message.split(". ")[0]
