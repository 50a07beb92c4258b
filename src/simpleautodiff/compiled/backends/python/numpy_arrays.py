"""An array program as a Python module that needs only NumPy: one line for every row."""

from __future__ import annotations

import importlib.util
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.run_numpy import is_known
from simpleautodiff.compiled.array.simplify import clean
from simpleautodiff.compiled.backends.known_values import result_line
from simpleautodiff.compiled.backends.python.numpy_scalars import (
    FOLLOWING,
    NUMPY_NAMES,
    OWN,
    describe_leaves,
    docstring_lines,
    failure_text,
    function_in_python,
    module,
)
from simpleautodiff.compiled.recording.trace_program import Guard, Line, RecordedProgram, Ref
from simpleautodiff.compiled.scalar.kernel import SAME, BatchedKernel, Kernel, Leaf
from simpleautodiff.compiled.scalar.lower_rows import can_lower, dtype_letter, lower
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.python_code import (
    MAX_INLINE_ELEMENTS,
    Piece,
    find_public_name,
    index_text,
    join_arguments,
    write_expression,
    write_literal,
)

_GIVEN = '''def given(name, x, dtype, shape):
    """Return an argument as it was recorded: of one kind of number and one shape."""
    x = np.asarray(x, dtype)
    if x.shape != shape:
        raise ValueError(f"{name} has shape {x.shape}; recorded was {shape}")
    return x[()]'''
_SIGNS: dict[Any, str] = {
    **{np.less: "<", operator.lt: "<", np.less_equal: "<=", operator.le: "<="},
    **{np.greater: ">", operator.gt: ">", np.greater_equal: ">=", operator.ge: ">="},
    **{np.equal: "==", operator.eq: "==", np.not_equal: "!=", operator.ne: "!="},
}
_FACTORS = {  # rows that have another name in NumPy
    "logabsdet": "np.linalg.slogdet({0})[1]",
    "det_sign": "np.linalg.slogdet({0})[0]",
    "is_singular": "np.linalg.matrix_rank({0}) < {0}.shape[-1]",
    "relu": "np.maximum({0}, 0)",
    "round": "round(float({0}), {1})",  # of Python's numbers: NumPy rounds otherwise
    "sinc": "np.sinc({0})",
    "pinv": "np.linalg.pinv({0}, {1})",
}
_WRITTEN = {  # rows that take several functions of NumPy
    "svd": '''def svd(a):
    """Return U, the singular values as one row, and V, one below the other."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, s[..., None, :], np.swapaxes(vh, -1, -2).conj()], -2)''',
    "qr": '''def qr(a):
    """Return Q, and the transpose of R below it."""
    q, r = np.linalg.qr(a)
    return np.concatenate([q, np.swapaxes(r, -1, -2)], -2)''',
    "solve_triangular": '''def solve_triangular(a, b, lower, unit):
    """Solve a system of which only one triangle of the matrix is read."""
    a = np.tril(a, -unit) if lower else np.triu(a, unit)
    return np.linalg.solve(a + np.eye(len(a), dtype=a.dtype) if unit else a, b)''',
    "log1prel": '''def log1prel(x):
    """Return log(1 + x) / x."""
    return np.where(x == 0, 1.0, np.log1p(x) / np.where(x == 0, 1.0, x))[()]''',
}
_SCIPY = {"lgamma": "gammaln"}  # rows that have another name in scipy.special


def to_python(recorded: RecordedProgram, name: str) -> str:
    """Return a recorded program as a Python module that imports NumPy, and SciPy if needed.

    Its function takes one argument per leaf, and returns one result per leaf. It raises
    `ValueError` where a guard fails or a shape is not the recorded one.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     y = np.sum(2 + np.sin(level.input(np.zeros(3))))
    >>> text = to_python(level.finish([y], 1), "f")
    >>> print(text[text.index("    in0 ="):])
        in0 = given("in0", in0, "float64", (3,))
        with np.errstate(all="ignore"):
            v1 = np.sin(in0)  # (3,)
            v2 = 2 + v1  # (3,)
            v3 = np.sum(v2)
        return v3
    >>> space = {}
    >>> exec(text, space)
    >>> print(space["f"]([0.0, np.pi / 2, 0.0]))
    7.0
    """
    space = ModuleSpace()
    function = write_function(space, recorded, name)
    return module(name, space.text([function]), space.constant_lines())


class ModuleSpace:
    """The definitions of a module before its functions: helpers, and constant arrays."""

    def __init__(self) -> None:
        self.helpers: dict[str, str] = {}  # functions, by their names
        self.constants: dict[str, str] = {}  # names of arrays, by their text

    def text(self, functions: list[str]) -> str:
        """Return the helpers and these functions."""
        return "\n\n\n".join([*self.helpers.values(), *functions])

    def constant_lines(self) -> list[str]:
        """Return the lines that define the constants."""
        return [f"{constant} = {value}" for value, constant in self.constants.items()]


def write_function(
    space: ModuleSpace,
    program: RecordedProgram,
    name: str,
    arguments: Sequence[str] = (),
    is_path: bool = False,
) -> str:
    """Return the function of a program, or of one of several paths (see `function_in_python`)."""
    names = list(arguments) or [f"in{n}" for n in range(program.inputs)]
    writer = _NumpyWriter(space, clean(program), names, is_path)
    opening = [FOLLOWING] if is_path else opening_lines(space, program, names)
    lines = [f"    {line}".rstrip() for line in [*opening, *writer.lines()]]
    return "\n".join([f"def {name}({', '.join(names)}):", *lines])


def opening_lines(space: ModuleSpace, program: RecordedProgram, names: Sequence[str]) -> list[str]:
    """Return the docstring of a function, and the checks of its arguments."""
    lines, inputs = program.lines, program.lines[: program.inputs]
    results = [result_line(lines, output) for output in program.outputs]
    said = [[f"{own} : {line.dtype}, {f'shape {line.shape}' if line.shape else 'a number'}"
             for own, line in pairs]
            for pairs in (zip(names, inputs, strict=True),
                          [(f"out{n}", line) for n, line in enumerate(results)])]  # fmt: skip
    given = [f'{own} = given("{own}", {own}, "{line.dtype}", {line.shape})'
             for own, line in zip(names, inputs, strict=True)]  # fmt: skip
    if given:
        space.helpers["given"] = _GIVEN
    return [*docstring_lines(*said), *given]


class _NumpyWriter:
    """Writes one program."""

    def __init__(
        self, space: ModuleSpace, program: RecordedProgram, names: list[str], is_path: bool
    ) -> None:
        self.space, self.program, self.names, self.is_path = space, program, names, is_path
        self.helpers, self.constants = space.helpers, space.constants

    def lines(self) -> list[str]:
        """Return the lines of the function."""
        body = self._body()
        steps = ['with np.errstate(all="ignore"):', *[f"    {line}" for line in body]]
        return [*(steps if body else []), f"return {'0, ' * self.is_path}{self._return_text()}"]

    def _name(self, place: int) -> str:
        return self.names[place] if place < self.program.inputs else f"v{int(place)}"

    # The lines. -----------------------------------------------------------------------------------

    def _body(self) -> list[str]:
        body: list[str] = []
        guards = list(enumerate(self.program.guards))
        for number, line in enumerate(self.program.lines):
            if line.what is not None:
                shape = f"  # {line.shape}" if line.shape else ""
                body.append(f"{self._name(number)} = {self._expression(line)}{shape}")
            while guards and is_known(guards[0][1], number):
                body += self._guard_lines(*guards.pop(0))
        return body

    def _guard_lines(self, number: int, guard: Guard) -> list[str]:
        if type(guard.place) is not Ref:
            return []
        test = f"if {'not ' * guard.expected}np.all({self._name(guard.place)}):"
        return [test, f"    {failure_text(number, self.is_path)}"]

    def _expression(self, line: Line) -> str:
        what = line.what
        if isinstance(what, Primitive):
            return self._row(line)
        if isinstance(what, BatchedKernel):
            return self._of_rows(line)
        pieces = [self._piece(arg) for arg in line.args]
        if what is operator.getitem:
            return f"{pieces[0].text}[{pieces[1].text}]"
        if what in _SIGNS:
            return f"{pieces[0].text} {_SIGNS[what]} {pieces[1].text}"
        spelled = find_public_name(what)
        if not spelled:
            raise _make_refusal(line)
        settings = [f"{key}={self._piece(arg).text}" for key, arg in line.kwargs.items()]
        return f"{spelled}({', '.join([join_arguments(pieces), *settings])})"

    def _row(self, line: Line) -> str:
        pieces = [self._piece(arg) for arg in line.args]
        if line.name == "getitem":
            return f"{pieces[0].text}[{index_text(line.args[1], self._piece)}]"
        if line.name == "where":
            return f"np.where({join_arguments(pieces)}){'[()]' * (not line.shape)}"
        values, value = tuple([self._like(arg) for arg in line.args]), _like(line)
        written = write_expression(
            line.what, pieces, values, value, lambda row, pieces: self._other(line, pieces)
        )
        return written.text

    def _other(self, line: Line, pieces: list[Piece]) -> Piece:
        """Write a row for which NumPy has no function."""
        name, dtype = line.name, str(line.dtype)
        if name in _FACTORS:
            return Piece(_FACTORS[name].format(*[piece.text for piece in pieces]))
        if name in _WRITTEN:
            self.helpers[name] = _WRITTEN[name]
        if name in OWN or name in _WRITTEN:
            return Piece(f"{name}({join_arguments(pieces)})")
        if can_lower(line.what, line.dtype):
            own = name if dtype == "float64" else f"{name}_{dtype}"
            self.helpers[own] = _write_lowered(line, own)
            return Piece(f"{own}({join_arguments(pieces)})")
        if not line.what.arrays and hasattr(_import_special(), _SCIPY.get(name, name)):
            kind = f".astype({dtype!r})" * (dtype != "float64")
            return Piece(f"special.{_SCIPY.get(name, name)}({join_arguments(pieces)}){kind}")
        raise _make_refusal(line)

    def _of_rows(self, line: Line) -> str:
        """Write a batched function: its program takes and returns columns."""
        rows: BatchedKernel = line.what
        name = f"rows{len(self.helpers)}"
        self.helpers[name] = function_in_python(rows.kernel, name)
        self.helpers["as_rows"] = _AS_ROWS
        columns, count = [], 0
        for arg, mode, leaf in zip(line.args, rows.modes, rows.kernel.inputs, strict=True):
            ahead = 1 if mode == SAME else self._like(arg).shape[0]
            column = f"np.reshape({self._piece(arg).text}, ({ahead}, {leaf.size})).T"
            columns.append(f"{column}[0]" if leaf.size == 1 else column)
            count = ahead if mode != SAME else count
        comma = "," * (len(rows.shapes) == 1)
        return f"as_rows(({name}({', '.join(columns)}){comma}), {count}, {rows.shapes})"

    def _piece(self, arg: Any) -> Piece:
        """Write an argument; a large array gets a name at the top of the module."""
        if type(arg) is Ref:
            return Piece(self._name(arg))
        if type(arg) in (tuple, list):
            inside = [self._piece(part).text for part in arg]
            return Piece(_write_tuple(inside) if type(arg) is tuple else f"[{', '.join(inside)}]")
        piece = write_literal(arg)
        if not isinstance(arg, np.ndarray) or arg.size <= MAX_INLINE_ELEMENTS:
            return piece
        return Piece(self.constants.setdefault(piece.text, f"C{len(self.constants) + 1}"))

    def _like(self, arg: Any) -> Any:
        """Return an argument, or something of the same dtype and shape in its place."""
        if type(arg) is tuple:
            return tuple([self._like(part) for part in arg])
        return _like(self.program.lines[arg]) if type(arg) is Ref else arg

    def _return_text(self) -> str:
        results: list[str] = []
        seen: set[str] = set()
        for output in self.program.outputs:
            text = self._piece(output).text
            shared = type(output) is not Ref or text in seen or self._is_view(output)
            line = result_line(self.program.lines, output)
            kind = f', "{line.dtype}"' * (line.dtype == np.float32)  # NumPy may have widened it
            made = "array" if shared else "asarray"
            results.append(f"np.{made}({text}{kind})[()]" if shared or kind else text)
            seen.add(text)
        return results[0] if len(results) == 1 else _write_tuple(results)

    def _is_view(self, place: Ref) -> bool:
        """Tell whether a result may share memory with an argument or another result."""
        line = self.program.lines[place]
        return bool(line.shape) and not (isinstance(line.what, Primitive) and not line.what.arrays)


_AS_ROWS = '''def as_rows(columns, count, shapes):
    """Return columns, or numbers that are the same in all rows, as arrays of rows."""
    found = []
    for column, shape in zip(columns, shapes):
        size = int(np.prod(shape))
        column = np.reshape(column, (size, -1) if size else (0, 1))
        found.append(np.array(np.broadcast_to(column, (size, count)).T).reshape(count, *shape))
    return tuple(found)'''


def rows_in_python(rows: BatchedKernel, name: str, arguments: list[str]) -> str:
    """Return a function of any number of rows, and the function of columns that it calls."""
    inputs = [
        f"{line.partition(',')[0]}, rows of {leaf.size}" if mode != SAME else line
        for line, leaf, mode in zip(
            describe_leaves(rows.kernel, arguments)[0], rows.kernel.inputs, rows.modes, strict=True
        )
    ]
    outputs = [
        f"out{n} : {NUMPY_NAMES[leaf.dtype][3:]}, shape ({', '.join(['count', *map(str, shape)])})"
        for n, (leaf, shape) in enumerate(zip(rows.kernel.outputs, rows.shapes, strict=True))
    ]
    first = arguments[next(k for k, mode in enumerate(rows.modes) if mode != SAME)]
    lines = [*docstring_lines(inputs, outputs), f"count = len({first})"]
    for own, mode, leaf in zip(arguments, rows.modes, rows.kernel.inputs, strict=True):
        ahead = 1 if mode == SAME else "count"
        lines.append(
            f"{own} = np.reshape({own}, ({ahead}, {leaf.size})).T{'[0]' * (leaf.size == 1)}"
        )
    one = len(rows.shapes) == 1
    lines.append(f"columns = {name}_columns({', '.join(arguments)})")
    lines.append(
        f"return as_rows({'(columns,)' if one else 'columns'}, count, {rows.shapes}){'[0]' * one}"
    )
    function = [f"def {name}({', '.join(arguments)}):", *[f"    {line}".rstrip() for line in lines]]
    own = function_in_python(rows.kernel, f"{name}_columns", arguments)
    return "\n\n\n".join([_AS_ROWS, own, "\n".join(function)])


def _write_tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _like(line: Line) -> Any:
    if line.dtype is None:
        return None
    return np.broadcast_to(line.dtype.type(0), line.shape) if line.shape else line.dtype.type(0)


def _write_lowered(line: Line, name: str) -> str:
    """Return a row as a function made of operations that NumPy has."""
    flat, kind = ScalarProgram(precise=True), dtype_letter(line.dtype) or ""
    places = [flat.input(kind) for _ in line.args]
    flat.outputs = [lower(flat, line.what, kind, places)]
    leaf = Leaf(kind, 1)
    return function_in_python(Kernel(flat, (leaf,) * len(places), (leaf,)), name)


def _import_special() -> Any:
    if importlib.util.find_spec("scipy") is None:
        return None
    return importlib.import_module("scipy.special")


def _make_refusal(line: Line) -> ArgumentError:
    return ArgumentError(
        f"{line.name} has no name in NumPy or in scipy.special, so a program with it cannot be "
        "exported; export the parts before and after it"
    )
