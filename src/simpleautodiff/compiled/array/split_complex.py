"""Complex numbers as pairs of real ones, so that loops compute them.

Every line with complex results becomes lines for the real and for the imaginary part; a part that
is a structural zero is None. A line without a rule here is left to NumPy, as a complex line: its
arguments are joined before it, and its result is split after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.simplify import clean, compute_constants
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    find_refs,
    with_values,
)
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.row import TABLE

Pair = tuple[Any, Any]  # real and imaginary part: results, constants, or None for a zero
_MOVES = ("getitem", "reshape", "transpose", "broadcast_to", "sum", "sum_to", "cumsum", "roll",
          "scatter")  # fmt: skip
_WHOLE_POWERS = 8


def split_complex(program: RecordedProgram) -> RecordedProgram:
    """Return a program that computes complex numbers as pairs; one without any as it is.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     z = np.exp(1j * level.input(np.arange(3.0)))
    ...     y = np.real(z * z)
    >>> [line.name for line in split_complex(level.finish([y], 1)).lines]
    ['input', 'cos', 'sin', 'mul', 'mul', 'sub']
    """
    if not any(_is_complex(line.dtype) for line in program.lines):
        return program
    new = _Splitter(program)
    for number, line in enumerate(program.lines):
        new.take(number, line)
    guards = [guard._replace(place=new.whole(guard.place)) for guard in program.guards]
    outputs = [new.whole(output) for output in program.outputs]
    made = clean(RecordedProgram(new.lines, program.inputs, guards, outputs))
    return compute_constants(made, program)


def _is_complex(dtype: Any) -> bool:
    return dtype is not None and dtype.kind == "c"


def join_parts(real: Any, imaginary: Any) -> Any:
    """Return complex numbers with these parts."""
    dtype = np.result_type(real, imaginary, np.complex64)
    joined = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
    joined.real, joined.imag = real, imaginary
    return joined if joined.shape else joined[()]


class _Splitter:
    """Splits the lines of a program one by one."""

    def __init__(self, program: RecordedProgram) -> None:
        self.old = program.lines
        self.lines: list[Line] = []
        self.of: dict[int, Any] = {}  # by old line: its new index, if it is real or unchanged
        self.pairs: dict[int, Pair] = {}
        self.shape: tuple[int, ...] = ()
        self.dtype: Any = None

    def take(self, number: int, line: Line) -> None:
        """Split the next line."""
        given = [*find_refs((line.args, line.kwargs))]
        involved = _is_complex(line.dtype) or any(_is_complex(self.old[x].dtype) for x in given)
        rule = _RULES.get(line.name) if involved and isinstance(line.what, Primitive) else None
        if rule and line.dtype is not None:
            self.shape = line.shape
            self.dtype = np.empty(0, line.dtype).real.dtype
            found = rule(self, line)
            if found is not None and _is_complex(line.dtype):
                self.pairs[number] = self.full(found[0]), self.full(found[1])
                return
            if found is not None:
                real = self.filled(self.full(found[0]))
                self.of[number] = real if type(real) is Ref else self.line("pos", real)
                return
        args = with_values(line.args, _Whole(self))
        self.lines.append(line._replace(args=args, kwargs=with_values(line.kwargs, _Whole(self))))
        self.of[number] = Ref(len(self.lines) - 1)

    def whole(self, arg: Any) -> Any:
        """Return an argument as one complex value."""
        if type(arg) is not Ref:
            return arg
        if arg not in self.of:
            line = self.old[arg]
            self.shape = line.shape
            parts = tuple([self.filled(part) for part in self.pairs[arg]])
            self.lines.append(Line(join_parts, parts, {}, line.shape, line.dtype))
            self.of[arg] = Ref(len(self.lines) - 1)
        return self.of[arg]

    def filled(self, part: Any) -> Any:
        """Return a part, with zeros for None."""
        return np.zeros(self.shape, self.dtype) if part is None else part

    def full(self, part: Any) -> Any:
        """Return a part broadcast to the shape of the line being split."""
        if part is None:
            return None
        if type(part) is Ref:
            if self.lines[part].shape == self.shape:
                return part
            return self.line("broadcast_to", part, self.shape)
        return np.full(self.shape, part, self.dtype)

    def parts(self, arg: Any) -> Pair:
        """Return the real and the imaginary part of an argument."""
        if type(arg) is Ref:
            if arg in self.pairs:
                return self.pairs[arg]
            line = self.old[arg]
            if not _is_complex(line.dtype):
                return self.of[arg], None
            shape, dtype = self.shape, self.dtype
            self.shape, self.dtype = line.shape, np.empty(0, line.dtype).real.dtype
            self.pairs[arg] = tuple([  # type: ignore[assignment]
                self.line(name, self.of[arg]) for name in ("real", "imag")
            ])  # fmt: skip
            self.shape, self.dtype = shape, dtype
            return self.pairs[arg]
        if not np.iscomplexobj(arg):
            return arg, None
        real, imaginary = (np.asarray(x)[()] if np.any(x) else None for x in (arg.real, arg.imag))
        return real, imaginary

    def put(self, name: str, *args: Any) -> Any:
        """Add a line of a row; compute it if all arguments are constants."""
        if next(find_refs(args), None) is None:
            return TABLE[name].compute(*args)
        if TABLE[name].arrays:
            return self.line(name, *args)
        shape, self.shape = self.shape, self._common_shape(args)
        place = self.line(name, *args)
        self.shape = shape
        return place

    def line(self, name: str, *args: Any) -> Ref:
        """Append a line that applies a row to arguments, in the shape of the line being split."""
        self.lines.append(Line(TABLE[name], args, {}, self.shape, self.dtype))
        return Ref(len(self.lines) - 1)

    def _common_shape(self, args: Any) -> tuple[int, ...]:
        return np.broadcast_shapes(*[
            self.lines[x].shape if type(x) is Ref else np.shape(x) for x in args
        ])  # fmt: skip

    # Arithmetic of parts, any of which may be None. -----------------------------------------------

    def add(self, x: Any, y: Any) -> Any:
        """Add two parts."""
        return y if x is None else x if y is None else self.put("add", x, y)

    def sub(self, x: Any, y: Any) -> Any:
        """Subtract a part from another."""
        return self.neg(y) if x is None else x if y is None else self.put("sub", x, y)

    def neg(self, x: Any) -> Any:
        """Return the negative of a part."""
        return None if x is None else self.put("neg", x)

    def mul(self, x: Any, y: Any) -> Any:
        """Multiply two parts."""
        return None if x is None or y is None else self.put("mul", x, y)

    def multiply(self, z: Pair, w: Pair) -> Pair:
        """Multiply two complex numbers."""
        (a, b), (c, d) = z, w
        return self.sub(self.mul(a, c), self.mul(b, d)), self.add(self.mul(a, d), self.mul(b, c))

    def divide(self, z: Pair, w: Pair) -> Pair:
        """Divide two complex numbers; the divisor is scaled, so that its square is in range."""
        (a, b), (c, d) = z, w
        if d is None:
            return tuple([x if x is None else self.put("div", x, c) for x in (a, b)])  # type: ignore[return-value]
        c = 0.0 if c is None else c
        size = self.put("maximum", self.put("abs", c), self.put("abs", d))
        scale = self.put("reciprocal", self.put("where", self.equal(size, 0), 1.0, size))
        e, f = self.mul(c, scale), self.mul(d, scale)
        e = self.put("where", self.equal(size, 0), 1.0, e)
        below = self.add(self.mul(c, e), self.mul(d, f))
        above = self.multiply(z, (e, self.neg(f)))
        return tuple([x if x is None else self.put("div", x, below) for x in above])  # type: ignore[return-value]

    def equal(self, x: Any, y: Any) -> Any:
        """Compare two parts."""
        return self._ask(np.equal, x, y)

    def less(self, x: Any, y: Any) -> Any:
        """Compare two parts."""
        return self._ask(np.less, x, y)

    def _ask(self, function: Any, x: Any, y: Any) -> Any:
        if next(find_refs((x, y)), None) is None:
            return function(x, y)
        shape = self._common_shape((x, y))
        self.lines.append(Line(function, (x, y), {}, shape, np.dtype(bool)))
        return Ref(len(self.lines) - 1)


class _Whole:
    """The results of lines as whole complex values, for lines that are not split."""

    def __init__(self, of: _Splitter) -> None:
        self.of = of

    def __getitem__(self, place: int) -> Any:
        return self.of.whole(Ref(place))


Rule = Callable[[_Splitter, Line], "Pair | None"]


def _linear(new: _Splitter, line: Line) -> Pair | None:
    """Move or add up both parts."""
    if next(find_refs(line.args[1:]), None) is not None:
        return None
    return tuple([  # type: ignore[return-value]
        part if part is None else new.put(line.name, part, *line.args[1:])
        for part in new.parts(line.args[0])
    ])  # fmt: skip


def _join(new: _Splitter, line: Line) -> Pair:
    setting, *args = line.args
    pairs = []
    shape = new.shape
    for arg in args:
        new.shape = new.old[arg].shape if type(arg) is Ref else np.shape(arg)
        pairs.append(tuple([new.filled(part) for part in new.parts(arg)]))
    new.shape = shape
    joined = [(line.what, setting, *[pair[k] for pair in pairs]) for k in (0, 1)]
    for what, *rest in joined:
        new.lines.append(Line(what, tuple(rest), {}, shape, new.dtype))
    return Ref(len(new.lines) - 2), Ref(len(new.lines) - 1)


def _product_of_arrays(new: _Splitter, line: Line) -> Pair | None:
    *setting, left, right = line.args
    if len(setting) > 1 or (line.name == "matmul" and setting):
        return None

    def multiply(x: Any, y: Any) -> Any:
        if x is None or y is None:
            return None
        new.lines.append(Line(line.what, (*setting, x, y), {}, line.shape, new.dtype))
        return Ref(len(new.lines) - 1)

    (a, b), (c, d) = new.parts(left), new.parts(right)
    real = new.sub(multiply(a, c), multiply(b, d))
    return real, new.add(multiply(a, d), multiply(b, c))


def _where(new: _Splitter, line: Line) -> Pair:
    condition, x, y = line.args
    condition = new.whole(condition)
    z, w = new.parts(x), new.parts(y)
    return tuple([  # type: ignore[return-value]
        None if a is None and b is None else
        new.put("where", condition, 0.0 if a is None else a, 0.0 if b is None else b)
        for a, b in zip(z, w, strict=True)
    ])  # fmt: skip


def _exp(new: _Splitter, line: Line) -> Pair:
    a, b = new.parts(line.args[0])
    around = (1.0, None) if b is None else (new.put("cos", b), new.put("sin", b))
    return around if a is None else new.multiply((new.put("exp", a), None), around)


def _log(new: _Splitter, line: Line) -> Pair:
    """Return log |z| and the angle; near |z| = 1 from |z|² - 1, which is exact there."""
    a, b = _both(new, line.args[0])
    size = new.put("hypot", a, b)
    more, less = (new.put("abs", x) for x in (a, b))
    more, less = new.put("maximum", more, less), new.put("minimum", more, less)
    above = new.mul(new.put("sub", more, 1.0), new.put("add", more, 1.0))
    near = new.mul(0.5, new.put("log1p", new.add(above, new.mul(less, less))))
    is_near = new.less(new.put("abs", new.put("sub", size, 1.0)), 0.4)
    return new.put("where", is_near, near, new.put("log", size)), new.put("atan2", b, a)


def _sqrt(new: _Splitter, line: Line) -> Pair:
    """Return the root with a nonnegative real part."""
    a, b = _both(new, line.args[0])
    half = new.mul(0.5, new.add(new.put("abs", a), new.put("hypot", a, b)))
    root = new.put("sqrt", half)
    safe = new.put("where", new.equal(root, 0), 1.0, root)
    other = new.put("div", new.mul(0.5, b), safe)
    is_left = new.less(a, 0)
    real = new.put("where", is_left, new.put("abs", other), root)
    return real, new.put("where", is_left, new.put("copysign", root, b), other)


def _power(new: _Splitter, line: Line) -> Pair | None:
    """Multiply, if the exponent is a small integer that is the same at every call."""
    z, exponent = line.args
    if type(exponent) is Ref or np.ndim(exponent) or np.iscomplexobj(exponent):
        return None
    count = int(exponent)
    if count != exponent or not 0 < abs(count) <= _WHOLE_POWERS:
        return None
    base = new.parts(z)
    result = base
    for digit in f"{abs(count):b}"[1:]:
        result = new.multiply(result, result)
        if digit == "1":
            result = new.multiply(result, base)
    return result if count > 0 else new.divide((1.0, None), result)


def _both(new: _Splitter, arg: Any) -> Pair:
    a, b = new.parts(arg)
    return 0.0 if a is None else a, 0.0 if b is None else b


def _turning(first: tuple[str, str], second: tuple[str, str], sign: int) -> Rule:
    """Return a rule for sin or cos, by circular functions of one part, hyperbolic of the other."""

    def rule(new: _Splitter, line: Line) -> Pair:
        a, b = _both(new, line.args[0])
        parts = [new.mul(new.put(f, a), new.put(g, b)) for f, g in (first, second)]
        return parts[0], new.neg(parts[1]) if sign < 0 else parts[1]

    return rule


def _size(new: _Splitter, line: Line) -> Pair:
    a, b = new.parts(line.args[0])
    if a is None or b is None:
        return new.put("abs", b if a is None else a), None
    return new.put("hypot", a, b), None


def _each(function: Callable[[_Splitter, Pair], Pair]) -> Rule:
    return lambda new, line: function(new, new.parts(line.args[0]))


def _of_two(function: Callable[[_Splitter, Pair, Pair], Pair]) -> Rule:
    return lambda new, line: function(new, new.parts(line.args[0]), new.parts(line.args[1]))


_RULES: dict[str, Rule] = {
    **dict.fromkeys(_MOVES, _linear),
    **dict.fromkeys(("pos", "stop_gradient"), _each(lambda new, z: z)),
    "astype": lambda new, line: new.parts(line.args[0]) if _is_complex(line.dtype) else None,
    "add": _of_two(lambda new, z, w: (new.add(z[0], w[0]), new.add(z[1], w[1]))),
    "sub": _of_two(lambda new, z, w: (new.sub(z[0], w[0]), new.sub(z[1], w[1]))),
    "mul": _of_two(lambda new, z, w: new.multiply(z, w)),
    "div": _of_two(lambda new, z, w: new.divide(z, w)),
    "neg": _each(lambda new, z: (new.neg(z[0]), new.neg(z[1]))),
    "conj": _each(lambda new, z: (z[0], new.neg(z[1]))),
    "real": _each(lambda new, z: (z[0], None)),
    "imag": _each(lambda new, z: (z[1], None)),
    "square": _each(lambda new, z: new.multiply(z, z)),
    "reciprocal": _each(lambda new, z: new.divide((1.0, None), z)),
    "abs": _size,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "power": _power,
    "sin": _turning(("sin", "cosh"), ("cos", "sinh"), 1),
    "cos": _turning(("cos", "cosh"), ("sin", "sinh"), -1),
    "where": _where,
    "concatenate": _join,
    "matmul": _product_of_arrays,
    "einsum": _product_of_arrays,
}
