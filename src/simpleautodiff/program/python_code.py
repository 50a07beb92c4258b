"""One recorded step as a Python expression: NumPy for arrays, `math` for scalars.

A step is written with the very function that computed it, so the text agrees to the last bit; what
only this library has is called by its name here.
"""

from __future__ import annotations

import base64
import math
import operator
import re
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.core.primitive import CALL, POWER, PRODUCT, SIGN, SUM, Primitive
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.indexing import is_basic
from simpleautodiff.rules.array.linear_systems import Decomposition
from simpleautodiff.values.functions import shape, width

MAX_INLINE_ELEMENTS = 12  # elements up to which an array is written in place


class Piece(NamedTuple):
    """A piece of Python code and its precedence."""

    text: str
    binds: int = CALL

    def inside(self, binds: int) -> str:
        """Return the text, in parentheses if the surroundings bind tighter."""
        return f"({self.text})" if self.binds < binds else self.text


_INFIX = {
    "add": ("+", SUM),
    "sub": ("-", SUM),
    "mul": ("*", PRODUCT),
    "div": ("/", PRODUCT),
    "floor_divide": ("//", PRODUCT),
    "mod": ("%", PRODUCT),
    "matmul": ("@", PRODUCT),
}
PYTHON_HELPERS = {
    "put": """
def put(x, index, shape):
    \"\"\"Put elements into an array of zeros.\"\"\"
    out = np.zeros(shape, np.result_type(x))
    out[index] = x
    return out
""",
    "scatter": """
def scatter(x, index, shape):
    \"\"\"Put elements into an array of zeros; what falls on one place is added up.\"\"\"
    out = np.zeros(shape, np.result_type(x))
    np.add.at(out, index, x)
    return out
""",
    "set_item": """
def set_item(x, value, index):
    \"\"\"Return a copy of x with new elements.\"\"\"
    out = np.array(x, dtype=np.result_type(x, value))
    out[index] = value
    return out
""",
}


def write_expression(
    row: Primitive,
    pieces: list[Piece],
    values: tuple[Any, ...],
    value: Any,
    otherwise: Callable[[Primitive, list[Piece]], Piece],
) -> Piece:
    """Write one step, given the code of its arguments.

    Parameters
    ----------
    row, pieces
        The primitive, and the code of its arguments.
    values, value
        The arguments and the result, or others of the same types and shapes.
    otherwise
        The function that writes a call of a primitive without a name in Python or NumPy.
    """
    if row.name in _INFIX:
        sign, binds = _INFIX[row.name]
        a, b = pieces
        right = b.inside(binds + 1)
        if sign == "+" and b.binds == SIGN and right.startswith("-"):
            sign, right = "-", right[1:]  # the same number
        return Piece(f"{a.inside(binds)} {sign} {right}", binds)
    writer = _WRITERS.get(row.name)
    written = writer(pieces, values, value) if writer else None
    if written:
        return written
    function = _find_function(row, values)
    if isinstance(function, Decomposition):
        return _write_decomposition(function, pieces[0])
    settings = function.keywords if isinstance(function, partial) else {}
    spelled = find_public_name(function.func if isinstance(function, partial) else function)
    named = "".join(f", {name}={write_literal(x).text}" for name, x in settings.items())
    return (
        Piece(f"{spelled}({join_arguments(pieces)}{named})") if spelled else otherwise(row, pieces)
    )


def _find_function(row: Primitive, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function that computes a primitive for values of these types."""
    if row.by_type is None:
        return row.compute
    kinds = [type(value) for i, value in enumerate(values) if i not in row.settings]
    return row.by_type[max(kinds, key=width)]


def _write_decomposition(call: Decomposition, matrix: Piece) -> Piece:
    """Write a call with its settings, and the part of its result that is taken."""
    settings = [f"{name}={write_literal(value).text}" for name, value in call.settings.items()]
    spelled = find_public_name(call.function) or f"scipy.linalg.{call.function.__name__}"
    part = "" if call.part is None else f"[{call.part}]"
    return Piece(f"{spelled}({', '.join([matrix.text, *settings])}){part}")


def find_public_name(function: Callable[..., Any]) -> str:
    """Return the public name of a function of Python or NumPy; empty if it is none.

    Examples
    --------
    >>> find_public_name(np.linalg.inv), find_public_name(len)
    ('np.linalg.inv', '')
    """
    name = getattr(function, "__name__", "")
    modules = {"math": math, "np": np, "np.linalg": np.linalg, "np.fft": np.fft}
    modules["operator"] = operator
    for spelled, module in modules.items():
        if getattr(module, name, None) is function:
            return f"{spelled}.{name}"
    return ""


def join_arguments(pieces: list[Piece]) -> str:
    """Write arguments, separated by commas."""
    return ", ".join(piece.text for piece in pieces)


StepWriter = Callable[[list[Piece], tuple[Any, ...], Any], Piece | None]


def _make_reduction_writer(name: str) -> StepWriter:
    def write(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
        _, axis, keepdims = values
        text = pieces[0].text + (f", axis={axis!r}" if axis is not None else "")
        return Piece(f"{name}({text}{', keepdims=True' * bool(keepdims)})")

    return write


def _write_sum_to(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    """Write the sum over broadcast axes: those added in front, then those of length 1."""
    x, new = values
    lead = len(shape(x)) - len(new)
    text = pieces[0].text
    if lead:
        text = f"np.sum({text}, axis={tuple(range(lead))!r})"
    kept = shape(x)[lead:]
    stretched = tuple(i for i, n in enumerate(new) if n == 1 and kept[i] != 1)
    return Piece(f"np.sum({text}, axis={stretched!r}, keepdims=True)" if stretched else text)


def _fill_template(template: str) -> StepWriter:
    return lambda pieces, values, value: Piece(template.format(*[p.text for p in pieces]))


def _transpose(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    axes = "" if values[1] is None else f", {values[1]!r}"
    return Piece(f"np.transpose({pieces[0].text}{axes})")


def _scatter(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    return Piece(f"{'put' if is_basic(values[1]) else 'scatter'}({join_arguments(pieces)})")


def _where(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    if not shape(values[0]) and not shape(value):
        return pieces[1] if values[0] else pieces[2]
    return Piece(f"np.where({join_arguments(pieces)})")


def _write_square(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece | None:
    x = pieces[0].text
    return Piece(f"{x} * {x}", PRODUCT) if x.isidentifier() else None


def _write_logaddexp(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece | None:
    """Write NumPy's function; for large arrays the computed value differs from it by rounding."""
    return Piece(f"np.logaddexp({join_arguments(pieces)})") if hasattr(value, "dtype") else None


def _write_astype(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    return Piece(f"np.asarray({pieces[0].text}).astype({str(np.dtype(values[1]))!r})[()]")


def _concatenate(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    return Piece(f"np.concatenate([{join_arguments(pieces[1:])}], axis={values[0][0]!r})")


def _make_fourier_writer(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    _, axis, back = values
    if back:
        return Piece(f'np.fft.ifft({pieces[0].text}, axis={axis}, norm="forward")')
    return Piece(f"np.fft.fft({pieces[0].text}, axis={axis})")


def _part(name: str) -> StepWriter:
    return lambda pieces, values, value: Piece(f"{pieces[0].inside(CALL)}.{name}")


_WRITERS: dict[str, StepWriter] = {
    "neg": lambda pieces, _, __: Piece(f"-{pieces[0].inside(POWER)}", SIGN),
    "pos": lambda pieces, _, __: Piece(f"+{pieces[0].inside(POWER)}", SIGN),
    "power": lambda pieces, _, __: Piece(
        f"{pieces[0].inside(CALL)} ** {pieces[1].inside(CALL)}", POWER
    ),
    "reciprocal": lambda pieces, _, __: Piece(f"1 / {pieces[0].inside(SIGN)}", PRODUCT),
    "square": _write_square,
    "logaddexp": _write_logaddexp,
    "abs": _fill_template("abs({0})"),
    "stop_gradient": lambda pieces, _, __: pieces[0],
    "where": _where,
    "sum": _make_reduction_writer("np.sum"),
    "max": _make_reduction_writer("np.max"),
    "min": _make_reduction_writer("np.min"),
    "sum_to": _write_sum_to,
    "broadcast_to": _fill_template("np.broadcast_to({0}, {1})"),
    "reshape": _fill_template("np.reshape({0}, {1})"),
    "transpose": _transpose,
    "cumsum": _fill_template("np.cumsum({0}, {1})"),
    "roll": _fill_template("np.roll({0}, {1}, {2})"),
    "getitem": lambda pieces, values, _: Piece(
        f"{pieces[0].inside(CALL)}[{index_text(values[1], write_literal, pieces[1].text)}]"
    ),
    "scatter": _scatter,
    "set_item": _fill_template("set_item({0}, {1}, {2})"),
    "astype": _write_astype,
    "concatenate": _concatenate,
    "fourier": _make_fourier_writer,
    "half_transform": _fill_template("np.fft.rfft({0}, axis={1})"),
    "whole_transform": _fill_template('np.fft.irfft({0}, {2}, axis={1}, norm="forward")'),
    "conj": _part("conjugate()"),
    "real": _part("real"),
    "imag": _part("imag"),
}


def index_text(index: Any, write: Callable[[Any], Piece], written: str = "") -> str:
    """Write an index as it appears between brackets: ``0, 1:3``; with arrays, as `written`."""
    parts = index if isinstance(index, tuple) and index else (index,)
    if written and any(isinstance(part, np.ndarray) for part in parts):
        return written
    return ", ".join(
        _slice(part) if isinstance(part, slice) else write(part).text for part in parts
    )


def _slice(part: slice) -> str:
    ends = [part.start, part.stop] + ([] if part.step is None else [part.step])
    return ":".join("" if end is None else str(end) for end in ends)


def write_literal(value: Any) -> Piece:
    """Write a constant so that Python reads the same value.

    Examples
    --------
    >>> write_literal(-0.5), write_literal(1e400).text
    (Piece(text='-0.5', binds=3), 'math.inf')
    """
    if isinstance(value, float) and not isinstance(value, np.generic):
        return _write_float(value)
    if isinstance(value, bool | str | bytes | type(None)) or value is ...:
        return Piece("..." if value is ... else repr(value))
    if type(value) is complex:
        return _write_complex(value)
    if isinstance(value, np.complexfloating):
        return Piece(f"np.{value.dtype}({_write_complex(complex(value)).text})")
    if isinstance(value, np.floating) and np.isnan(value):
        return _write_nan(value)
    if type(value) is int or isinstance(value, np.generic | slice | range):
        text = repr(value).replace("inf", "math.inf")
        return Piece(text, SIGN if text.startswith("-") else CALL)
    if isinstance(value, Fraction):
        return Piece(f"Fraction({value.numerator}, {value.denominator})")
    if isinstance(value, tuple | list):
        inside = ", ".join(write_literal(part).text for part in value)
        comma = "," * (len(value) == 1)
        return Piece(f"({inside}{comma})" if isinstance(value, tuple) else f"[{inside}]")
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return Piece(_write_array(value))
    if isinstance(value, np.dtype | type):
        return Piece(f"np.dtype({str(np.dtype(value))!r})")
    raise ArgumentError(
        f"source code cannot hold a constant of type {type(value).__name__}: {value!r}; give it as "
        "an argument of the function"
    )


def _write_nan(value: Any) -> Piece:
    """Write a nan of NumPy by its bits, which hold its sign, and perhaps a number."""
    bits = np.asarray(value).view(f"u{value.dtype.itemsize}")
    return Piece(f"np.{bits.dtype}({int(bits)}).view(np.{value.dtype})")


def _write_complex(value: complex) -> Piece:
    """Write a complex number; sums of its parts would lose the signs of zeros."""
    text = repr(value)
    signs = value.imag > 0 and not str(value.real).startswith("-0.0")
    if "n" in text or not (signs or (value.real and value.imag)):
        return Piece(f"complex({_write_float(value.real).text}, {_write_float(value.imag).text})")
    return Piece(text, SIGN if text.startswith("-") else CALL)


def _write_float(value: float) -> Piece:
    if math.isnan(value):
        if struct.pack("d", value) == struct.pack("d", math.nan):
            return Piece("math.nan")
        return Piece(f"{_write_nan(np.float64(value)).text}.item()")
    if math.isinf(value):
        return Piece("math.inf") if value > 0 else Piece("-math.inf", SIGN)
    text = repr(float(value))
    return Piece(text, SIGN if text.startswith("-") else CALL)


def _write_array(array: Any) -> str:
    """Write an array: by elements if these are few and finite, or all equal; otherwise as bytes."""
    kind, whole = str(array.dtype), array.tobytes()
    few = array.size <= MAX_INLINE_ELEMENTS and np.all(np.isfinite(array))
    if few and (array.dtype.kind != "c" or np.all(array.real * array.imag)):
        return f"np.array({array.tolist()!r}, dtype={kind!r})"
    equal = array.size and whole == whole[: array.itemsize] * array.size
    if equal and array.dtype.kind != "c" and not (array.itemsize < 8 and np.isnan(array.flat[0])):
        return (
            f"np.full({array.shape!r}, {write_literal(array.flat[0].item()).text}, dtype={kind!r})"
        )
    packed = base64.b64encode(whole).decode()
    return f"np.frombuffer(base64.b64decode({packed!r}), dtype={kind!r}).reshape({array.shape!r})"


def module_text(code: str, constants: Sequence[str] = ()) -> str:
    """Prepend the imports, helpers and constants that a function needs."""
    helpers = [text for name, text in PYTHON_HELPERS.items() if _stands_in(code, f"{name}(", r"\b")]
    parts = [*[text.strip("\n") for text in helpers], "\n".join(constants), code]
    whole = "\n\n\n".join(filter(None, parts))
    uncommented = re.sub(r"  # .*", "", whole)
    imports = [
        line
        for sign, line in (
            ("base64.", "import base64"),
            ("math.", "import math"),
            ("operator.", "import operator"),
            ("Fraction(", "from fractions import Fraction"),
            ("np.", "import numpy as np"),
            ("special.", "from scipy import special"),
            ("scipy.", "import scipy.linalg"),
            ("ad.", "import simpleautodiff as ad"),
            ("rows[", "from simpleautodiff.rules.row import TABLE as rows"),
        )
        if _stands_in(uncommented, sign, r"(?<![\w.])")
    ]
    return "\n".join([*imports, *[""] * (2 * bool(imports)), whole, ""])


def _stands_in(text: str, part: str, before: str) -> bool:
    """Tell whether a part stands in a text, which may be long, after what the pattern allows."""
    return part in text and re.search(f"{before}{re.escape(part)}", text) is not None
