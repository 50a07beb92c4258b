"""The text of the vector functions that a kernel asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from simpleautodiff.compiled.backends.llvm.math import (
    circular,
    erf as error,
    exponentials as exponential,
    inverse,
    logarithms as logarithm,
    powers,
)
from simpleautodiff.compiled.backends.llvm.math.builder import KINDS, Bits, Lanes, Mask, Number
from simpleautodiff.compiled.backends.llvm.math.huge_arguments import (
    DECLARATIONS,
    NAME,
    RESULT,
    far_remainder,
)

Wanted = tuple[str, int, str]
WRITERS: dict[str, Callable[..., Number]] = {
    writer.__name__: writer
    for writer in (
        *(exponential.exp, exponential.exp2, exponential.expm1, exponential.sigmoid),
        *(exponential.sinh, exponential.cosh, exponential.tanh),
        *(logarithm.log, logarithm.log2, logarithm.log10, logarithm.log1p, logarithm.softplus),
        *(logarithm.asinh, logarithm.acosh, logarithm.atanh),
        *(inverse.asin, inverse.acos, inverse.atan, inverse.atan2),
        *(powers.sqrt, powers.cbrt, powers.hypot, powers.power),
        *(error.erf, error.erfc),
    )
}
NAMES = frozenset(WRITERS) | frozenset(circular.OF_ANGLE)
WHICH = {"sin": 0, "cos": 1, "tan": 2}
OF_TWO = frozenset({"atan2", "hypot", "power"})


class Text(NamedTuple):
    """Definitions, and the declarations they need, which others may need as well."""

    definitions: str
    declarations: frozenset[str]


def symbol(name: str, width: int, kind: str) -> str:
    """Return what the function for so many lanes is called.

    Parameters
    ----------
    name
        A row's name.
    width
        The number of lanes.
    kind
        "double" or "float".

    Examples
    --------
    >>> symbol("sin", 8, "double")
    '@sad_sin_v8f64'
    >>> symbol("exp", 1, "float")
    '@sad_exp_f32'
    """
    return f"@sad_{name}_{Lanes(width, KINDS[kind]).suffix}"


def functions(wanted: Iterable[Wanted]) -> Text:
    """Return the text of every function that is wanted, each once.

    Parameters
    ----------
    wanted
        A row's name, the number of lanes and "double" or "float", for each.

    Examples
    --------
    >>> text = functions([("sqrt", 4, "double")])
    >>> print(text.definitions.splitlines()[1])
      %v0 = call <4 x double> @llvm.sqrt.v4f64(<4 x double> %x)
    >>> sorted(text.declarations)
    ['declare <4 x double> @llvm.sqrt.v4f64(<4 x double>)']
    """
    texts: dict[str, str] = {}
    declarations: set[str] = set()
    for one in sorted(set(wanted)):
        _enter(one, texts, declarations)
    return Text("".join(texts.values()), frozenset(declarations))


def _enter(one: Wanted, texts: dict[str, str], declarations: set[str]) -> None:
    """Enter a function, after what it calls."""
    name, width, kind = one
    key = symbol(*one)
    if key in texts:
        return
    lanes, scalar = Lanes(width, KINDS[kind]), Lanes(1, KINDS["double"])
    if name in circular.OF_ANGLE:
        texts.setdefault("@sad_far", far_remainder() + _far(scalar))
        texts.setdefault(symbol("far", width, kind), _each(lanes))
        texts[key] = _circular(name, lanes)
        declarations |= DECLARATIONS | scalar.declarations
    else:
        texts[key] = _usual(name, lanes)
    declarations |= lanes.declarations


def _head(lanes: Lanes, name: str, arguments: Iterable[str], kind: str) -> str:
    bits = max(lanes.width * lanes.kind.bits, 128)
    given = ", ".join(f"{lanes.floats} {argument}" for argument in arguments)
    return (
        f"define internal {lanes.floats} {name}({given}) {kind} nounwind memory(none) "
        f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" {{\n'
    )


def _close(lanes: Lanes, result: str) -> str:
    return "\n".join([*lanes.lines, f"  ret {lanes.floats} {result}", "}\n"])


def _usual(name: str, lanes: Lanes) -> str:
    arguments = ["%x", "%y"] if name in OF_TWO else ["%x"]
    result = WRITERS[name](*(Number(lanes, argument) for argument in arguments))
    own = symbol(name, lanes.width, lanes.kind.name)
    return _head(lanes, own, arguments, "alwaysinline") + _close(lanes, result.text)


def _circular(name: str, lanes: Lanes) -> str:
    """Return the quick function: it calls the slow one if any lane is huge."""
    x = Number(lanes, "%x")
    near = circular.OF_ANGLE[name](x, circular.near_angle(x)).text
    far = _any(lanes, abs(x))
    own = symbol(name, lanes.width, lanes.kind.name)
    lanes.lines += [
        f"  br i1 {far}, label %far, label %done",
        "far:",
        f"  %slow = call {lanes.floats} {symbol('far', lanes.width, lanes.kind.name)}"
        f"({lanes.floats} %x, {lanes.floats} {near}, i64 {WHICH[name]})",
        "  br label %done",
        "done:",
        f"  %result = phi {lanes.floats} [ {near}, %entry ], [ %slow, %far ]",
    ]
    return _head(lanes, own, ["%x"], "alwaysinline") + "entry:\n" + _close(lanes, "%result")


def _any(lanes: Lanes, size: Number) -> str:
    """Return whether any lane is beyond the limit."""
    mask = (size > circular.limit(lanes.kind)).text
    if lanes.width == 1:
        return mask
    packed = lanes.emit(f"bitcast {lanes.masks} {mask} to i{lanes.width}")
    return lanes.emit(f"icmp ne i{lanes.width} {packed}, 0")


def _far(scalar: Lanes) -> str:
    """Return the slow function of one float64: sine, cosine or tangent."""
    parts = scalar.emit(f"call {RESULT} {NAME}(double %x)")
    r, low, quadrant = (scalar.emit(f"extractvalue {RESULT} {parts}, {i}") for i in range(3))
    angle = circular.Angle(Number(scalar, r), Number(scalar, low), Bits(scalar, quadrant))
    results = {
        name: write(Number(scalar, "%x"), angle) for name, write in circular.OF_ANGLE.items()
    }
    result = results["tan"]
    for name in ("sin", "cos"):
        chosen = Mask(scalar, scalar.emit(f"icmp eq i64 %which, {WHICH[name]}"))
        result = chosen.pick(results[name], result)
    head = "define internal double @sad_far(double %x, i64 %which)"
    return f"{head} noinline cold nounwind memory(none) {{\n" + _close(scalar, result.text)


def _each(lanes: Lanes) -> str:
    """Return the slow function of all lanes: those that are not huge keep what they have."""
    words = {
        "{many}": lanes.floats,
        "{one}": lanes.kind.name,
        "{width}": str(lanes.width),
        "{limit}": Lanes(1, KINDS["double"]).number(circular.limit(lanes.kind)).text,
        "{widen}": "fpext" if lanes.kind.name == "float" else "bitcast",
        "{narrow}": "fptrunc" if lanes.kind.name == "float" else "bitcast",
    }
    body = _SCALAR if lanes.width == 1 else _EACH
    for word, meaning in words.items():
        body = body.replace(word, meaning)
    own = symbol("far", lanes.width, lanes.kind.name)
    head = _head(lanes, own, ["%x", "%near"], "noinline cold")
    return head.replace("%near)", "%near, i64 %which)") + body


_SCALAR = """\
  %wide = {widen} {one} %x to double
  %value = call double @sad_far(double %wide, i64 %which)
  %new = {narrow} double %value to {one}
  ret {one} %new
}
"""
_EACH = """\
entry:
  br label %lane
lane:
  %i = phi i64 [ 0, %entry ], [ %next, %lane ]
  %all = phi {many} [ %near, %entry ], [ %changed, %lane ]
  %one = extractelement {many} %x, i64 %i
  %old = extractelement {many} %near, i64 %i
  %wide = {widen} {one} %one to double
  %value = call double @sad_far(double %wide, i64 %which)
  %new = {narrow} double %value to {one}
  %size = call double @llvm.fabs.f64(double %wide)
  %huge = fcmp ogt double %size, {limit}
  %kept = select i1 %huge, {one} %new, {one} %old
  %changed = insertelement {many} %all, {one} %kept, i64 %i
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, {width}
  br i1 %last, label %done, label %lane
done:
  ret {many} %changed
}
"""
