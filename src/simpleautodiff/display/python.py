"""One recorded step as an expression of Python: NumPy for arrays, `math` for single numbers.

A function is written by the name of the very function that computed the step, so the text agrees
with it to the last bit; what only this library has is called by its name here.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.errors import ArgumentError
from simpleautodiff.node import Node
from simpleautodiff.number import shape, width
from simpleautodiff.primitives import CALL, POWER, PRODUCT, SIGN, SUM, Primitive
from simpleautodiff.rules.indexing import is_basic
from simpleautodiff.rules.row import TABLE

FEW = 12  # elements of an array that are written where they are used


class Piece(NamedTuple):
    """A piece of Python and how tightly it binds."""

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
HELPERS = {
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


def expression(node: Node, pieces: list[Piece]) -> Piece:
    """Write one step, given what to write for each of its arguments."""
    row, values = node.primitive, node.values()
    assert row is not None
    if type(node.value) is float and not math.isfinite(node.value):
        return _library_call(row, pieces)  # Python would raise where this library gives inf or nan
    if row.name in _INFIX:
        sign, binds = _INFIX[row.name]
        a, b = pieces
        right = b.inside(binds + 1)
        if sign == "+" and b.binds == SIGN and right.startswith("-"):
            sign, right = "-", right[1:]  # the same number
        return Piece(f"{a.inside(binds)} {sign} {right}", binds)
    writer = _WRITERS.get(row.name)
    written = writer(pieces, values, node.value) if writer else None
    return written or _call(row, pieces, values)


def _function(row: Primitive, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return what computes a row for numbers of these kinds."""
    if row.by_type is None:
        return row.compute
    kinds = [type(value) for i, value in enumerate(values) if i not in row.settings]
    return row.by_type[max(kinds, key=width)]


def _spelled(function: Callable[..., Any]) -> str:
    """Return the public name of a function of Python or NumPy; empty if it is none."""
    name = getattr(function, "__name__", "")
    modules = {"math": math, "np": np, "np.linalg": np.linalg}
    for spelled, module in modules.items():
        if getattr(module, name, None) is function:
            return f"{spelled}.{name}"
    return ""


def _call(row: Primitive, pieces: list[Piece], values: tuple[Any, ...]) -> Piece:
    spelled = _spelled(_function(row, values))
    if not spelled:
        return _library_call(row, pieces)
    return Piece(f"{spelled}({_listed(pieces)})")


def _library_call(row: Primitive, pieces: list[Piece]) -> Piece:
    import simpleautodiff

    if TABLE.get(row.name) is not row:
        raise ArgumentError(
            f"{row.name} is a primitive of your own, which source code cannot name; write the "
            "function without it"
        )
    public = {"abs": "absolute"}.get(row.name, row.name)
    found = getattr(simpleautodiff, public, None)
    if getattr(found, "primitive", None) is row:
        return Piece(f"ad.{public}({_listed(pieces)})")
    return Piece(f'rows["{row.name}"].compute({_listed(pieces)})')


def _listed(pieces: list[Piece]) -> str:
    return ", ".join(piece.text for piece in pieces)


Writer = Callable[[list[Piece], tuple[Any, ...], Any], Piece | None]


def _reduction(name: str) -> Writer:
    def write(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
        _, axis, keepdims = values
        text = pieces[0].text + (f", axis={axis!r}" if axis is not None else "")
        return Piece(f"{name}({text}{', keepdims=True' * bool(keepdims)})")

    return write


def _sum_to(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    """Write the sum over what broadcasting had copied: axes in front, then stretched ones."""
    x, new = values
    lead = len(shape(x)) - len(new)
    text = pieces[0].text
    if lead:
        text = f"np.sum({text}, axis={tuple(range(lead))!r})"
    kept = shape(x)[lead:]
    stretched = tuple(i for i, n in enumerate(new) if n == 1 and kept[i] != 1)
    return Piece(f"np.sum({text}, axis={stretched!r}, keepdims=True)" if stretched else text)


def _named(template: str) -> Writer:
    return lambda pieces, values, value: Piece(template.format(*[p.text for p in pieces]))


def _transpose(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    axes = "" if values[1] is None else f", {values[1]!r}"
    return Piece(f"np.transpose({pieces[0].text}{axes})")


def _scatter(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    return Piece(f"{'put' if is_basic(values[1]) else 'scatter'}({_listed(pieces)})")


def _where(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    if not shape(values[0]) and not shape(value):
        return pieces[1] if values[0] else pieces[2]
    return Piece(f"np.where({_listed(pieces)})")


def _square(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece | None:
    x = pieces[0].text
    return Piece(f"{x} * {x}", PRODUCT) if x.isidentifier() else None


def _astype(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    return Piece(f"np.asarray({pieces[0].text}).astype({str(np.dtype(values[1]))!r})[()]")


def _einsum(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    return Piece(f"np.einsum({_listed(pieces)}, optimize={len(values) > 3})")


def _concatenate(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    return Piece(f"np.concatenate([{_listed(pieces[1:])}], axis={values[0][0]!r})")


def _fourier(pieces: list[Piece], values: tuple[Any, ...], value: Any) -> Piece:
    _, axis, back = values
    if back:
        return Piece(f'np.fft.ifft({pieces[0].text}, axis={axis}, norm="forward")')
    return Piece(f"np.fft.fft({pieces[0].text}, axis={axis})")


def _part(name: str) -> Writer:
    return lambda pieces, values, value: Piece(f"{pieces[0].inside(CALL)}.{name}")


_WRITERS: dict[str, Writer] = {
    "neg": lambda pieces, _, __: Piece(f"-{pieces[0].inside(POWER)}", SIGN),
    "pos": lambda pieces, _, __: Piece(f"+{pieces[0].inside(POWER)}", SIGN),
    "power": lambda pieces, _, __: Piece(
        f"{pieces[0].inside(CALL)} ** {pieces[1].inside(CALL)}", POWER
    ),
    "reciprocal": lambda pieces, _, __: Piece(f"1 / {pieces[0].inside(SIGN)}", PRODUCT),
    "square": _square,
    "abs": _named("abs({0})"),
    "stop_gradient": lambda pieces, _, __: pieces[0],
    "where": _where,
    "sum": _reduction("np.sum"),
    "max": _reduction("np.max"),
    "min": _reduction("np.min"),
    "sum_to": _sum_to,
    "broadcast_to": _named("np.broadcast_to({0}, {1})"),
    "reshape": _named("np.reshape({0}, {1})"),
    "transpose": _transpose,
    "cumsum": _named("np.cumsum({0}, {1})"),
    "roll": _named("np.roll({0}, {1}, {2})"),
    "getitem": lambda pieces, values, _: Piece(
        f"{pieces[0].inside(CALL)}[{_index(values[1], pieces[1].text)}]"
    ),
    "scatter": _scatter,
    "set_item": _named("set_item({0}, {1}, {2})"),
    "astype": _astype,
    "einsum": _einsum,
    "concatenate": _concatenate,
    "fourier": _fourier,
    "half_transform": _named("np.fft.rfft({0}, axis={1})"),
    "whole_transform": _named('np.fft.irfft({0}, {2}, axis={1}, norm="forward")'),
    "conj": _part("conjugate()"),
    "real": _part("real"),
    "imag": _part("imag"),
}


def _index(index: Any, written: str) -> str:
    """Write an index as it stands between brackets: ``0, 1:3``; with arrays, as it is written."""
    parts = index if isinstance(index, tuple) and index else (index,)
    if any(isinstance(part, np.ndarray) for part in parts):
        return written
    return ", ".join(
        _slice(part) if isinstance(part, slice) else literal(part).text for part in parts
    )


def _slice(part: slice) -> str:
    ends = [part.start, part.stop] + ([] if part.step is None else [part.step])
    return ":".join("" if end is None else str(end) for end in ends)


def literal(value: Any) -> Piece:
    """Write a constant so that Python reads the same one.

    Examples
    --------
    >>> literal(-0.5), literal(1e400).text
    (Piece(text='-0.5', binds=3), 'math.inf')
    """
    if isinstance(value, float) and not isinstance(value, np.generic):
        return _float(value)
    if isinstance(value, bool | str | bytes | type(None)) or value is ...:
        return Piece("..." if value is ... else repr(value))
    if type(value) in (int, complex) or isinstance(value, np.generic | slice | range):
        text = repr(value).replace("nan", "math.nan").replace("inf", "math.inf")
        return Piece(text, SIGN if text.startswith("-") else CALL)
    if isinstance(value, Fraction):
        return Piece(f"Fraction({value.numerator}, {value.denominator})")
    if isinstance(value, tuple | list):
        inside = ", ".join(literal(part).text for part in value)
        comma = "," * (len(value) == 1)
        return Piece(f"({inside}{comma})" if isinstance(value, tuple) else f"[{inside}]")
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return Piece(_array(value))
    if isinstance(value, np.dtype | type):
        return Piece(f"np.dtype({str(np.dtype(value))!r})")
    raise ArgumentError(
        f"source code cannot hold a constant of type {type(value).__name__}: {value!r}; give it as "
        "an argument of the function"
    )


def _float(value: float) -> Piece:
    if math.isnan(value):
        return Piece("math.nan")
    if math.isinf(value):
        return Piece("math.inf") if value > 0 else Piece("-math.inf", SIGN)
    text = repr(float(value))
    return Piece(text, SIGN if text.startswith("-") else CALL)


def _array(array: Any) -> str:
    """Write an array: its elements where they are few and finite, else its bytes."""
    kind = str(array.dtype)
    if array.size <= FEW and np.all(np.isfinite(array)):
        return f"np.array({array.tolist()!r}, dtype={kind!r})"
    packed = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return f"np.frombuffer(base64.b64decode({packed!r}), dtype={kind!r}).reshape({array.shape!r})"
