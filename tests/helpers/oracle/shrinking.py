"""Shrink a program that shows a difference to a few lines, and write it as a test."""

import re
from dataclasses import replace

import numpy as np

from oracle.programs import TEXTS


def shrink(program, differs):
    """Return the smallest program found that still `differs`, statement by statement."""
    while True:
        smaller = next((one for one in _smaller(program) if _holds(differs, one)), None)
        if smaller is None:
            return program
        program = smaller


def _holds(differs, program):
    try:
        return bool(differs(program))
    except Exception:
        return False  # what cannot be run shows nothing


def _smaller(program):
    """Yield programs with a little less."""
    for statements in _without_one(program.statements):
        yield replace(program, statements=statements)
    if len(program.points) > 1:
        yield from [replace(program, points=[xs]) for xs in program.points]
        yield from [
            replace(program, points=program.points[:k] + program.points[k + 1 :])
            for k in range(len(program.points))
        ]
    if len(program.xs) > 1 and program.kind != "rows":
        yield replace(program, points=[xs[:1] for xs in program.points])
    shape = np.shape(program.xs[0])
    if shape and shape[0] > 1:
        for part in (slice(0, shape[0] // 2), slice(shape[0] // 2, None), slice(1, None)):
            yield replace(
                program,
                points=[[x[part] for x in xs] for xs in program.points],
                constants=[x[part] for x in program.constants],
                weights=[x[part] for x in program.weights],
            )
    ones = [np.ones_like(x)[()] if np.shape(x) else type(x)(1) for x in program.weights]
    if not all(np.array_equal(a, b) for a, b in zip(ones, program.weights, strict=True)):
        yield replace(program, weights=ones)
    if program.kind in ("hvp", "both", "structure"):
        yield replace(program, kind="gradient")


def _without_one(statements):
    """Yield lists of statements with one less, or with one of a loop or a branch."""
    for k, (name, *arguments) in enumerate(statements):
        before, after = statements[:k], statements[k + 1 :]
        yield before + after
        if name == "branch":
            i, threshold, yes, no = arguments
            yield from (before + yes + after, before + no + after)
            for body in _without_one(yes):
                yield [*before, (name, i, threshold, body, no), *after]
        if name == "loop":
            times, body = arguments
            yield before + body + after
            if times > 1:
                yield [*before, (name, 1 if times < 4 else times // 2, body), *after]
            for less in _without_one(body):
                yield [*before, (name, times, less), *after]


# As a test. ---------------------------------------------------------------------------------------


def write_test(program, ways):
    """Return the text of a test that holds once the ways to answer agree on a program."""
    lines, arrays, numbers = _Writer(program).write()
    names = ", ".join([f"a{i}" for i in range(len(program.xs))])
    text = [
        f"def test_program_{program.seed}():",
        f"    def f(np, ad, {names}):",
        *[f"        {line}" for line in lines],
        f"        return [{', '.join(arrays)}], [{', '.join(numbers)}]",
        "",
        f"    points = {_text(program.points)}",
        f"    weights = {_text(program.weights)}",
        f"    program = Written({program.kind!r}, f, points, weights, limits={program.limits})",
        f"    assert not differences(program, {tuple(ways)!r})",
    ]
    return "\n".join(text) + "\n"


class _Writer:
    """Writes the statements of a program as lines of Python."""

    def __init__(self, program):
        self.program = program
        self.arrays, self.numbers, self.lines = len(program.xs), 1, []

    def write(self):
        """Return the lines, and the names of the results."""
        self.lines.append("s0 = 0.3")
        self._body(self.program.statements, "")
        arrays = [f"a{i}" for i in range(self.arrays)][-3:]
        return self.lines, arrays, [f"s{i}" for i in range(self.numbers)][-2:]

    def _at(self, i):
        return f"a{i % self.arrays}"

    def _to(self, to):
        if to is not None:
            return self._at(to)
        self.arrays += 1
        return f"a{self.arrays - 1}"

    def _body(self, statements, indent):
        for name, *arguments in statements:
            match name:
                case "unary" | "move":
                    operation, i, to = arguments
                    value = _fill(TEXTS[name][operation], a=self._at(i))
                    line = f"{self._to(to)} = {value}"
                case "binary":
                    operation, i, j, to = arguments
                    value = _fill(TEXTS[name][operation], a=self._at(i), b=self._at(j))
                    line = f"{self._to(to)} = {value}"
                case "constant":
                    operation, i, k, left, to = arguments
                    pair = [_text(self.program.constants[k]), self._at(i)]
                    a, b = pair if left else pair[::-1]
                    line = f"{self._to(to)} = {_fill(TEXTS['binary'][operation], a=a, b=b)}"
                case "number":
                    operation, i, s, to = arguments
                    text = TEXTS["binary"][operation]
                    value = _fill(text, a=self._at(i), b=f"s{s % self.numbers}")
                    line = f"{self._to(to)} = {value}"
                case "reduce":
                    operation, i = arguments
                    self.numbers += 1
                    value = _fill(TEXTS[name][operation], a=self._at(i))
                    line = f"s{self.numbers - 1} = {value}"
                case "write":
                    operation, i, j, s = arguments
                    of = {"a": self._at(i), "b": self._at(j), "s": f"s{s % self.numbers}"}
                    line = _fill(TEXTS[name][operation], **of)
                case "copy" | "alias" | "new":
                    text = {"copy": "a.copy()", "alias": "a", "new": "np.zeros_like(a)"}[name]
                    value = _fill(text, a=self._at(arguments[0]))
                    line = f"{self._to(None)} = {value}"
                case "branch":
                    i, threshold, yes, no = arguments
                    self.lines.append(f"{indent}if decide({self._at(i)}, {threshold!r}):")
                    self._body(yes or [("alias", i)], f"{indent}    ")
                    self.lines.append(f"{indent}else:")
                    self._body(no or [("alias", i)], f"{indent}    ")
                    continue
                case "loop":
                    times, body = arguments
                    self.lines.append(f"{indent}for _ in range({times}):")
                    self._body(body, f"{indent}    ")
                    continue
            self.lines.append(indent + line)


def _fill(text, **names):
    """Write an operation with the names of its operands."""
    return re.sub(r"\b[abs]\b", lambda found: names.get(found[0], found[0]), text)


def _text(value):
    """Write numbers, arrays and lists of them."""
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, np.ndarray):
        with np.printoptions(floatmode="unique", threshold=10**6, linewidth=10**6):
            numbers = re.sub(r"\b(inf|nan)\b", r"np.\1", repr(value.tolist()))
            return f"np.array({numbers}, np.{value.dtype})"
    text = (
        repr(value) if not isinstance(value, np.generic) else f"np.{value.dtype}({value.item()!r})"
    )
    return re.sub(r"\b(inf|nan)\b", r"np.\1", text)
