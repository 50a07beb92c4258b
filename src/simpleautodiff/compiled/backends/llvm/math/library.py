"""The text of the vector functions that a kernel calls."""

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
from simpleautodiff.compiled.backends.llvm.math.huge_arguments import (
    DECLARATIONS,
    NAME,
    RESULT,
    far_remainder,
)
from simpleautodiff.compiled.backends.llvm.math.lane_values import (
    FORMATS,
    Floats,
    Ints,
    Mask,
    MathBuilder,
)

Wanted = tuple[str, int, str]
WRITERS: dict[str, Callable[..., Floats]] = {
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
    """Return the name of the function for that many lanes.

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
    return f"@sad_{name}_{MathBuilder(width, FORMATS[kind]).suffix}"


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
      %v1 = call <4 x double> @llvm.sqrt.v4f64(<4 x double> %x)
    >>> sorted(text.declarations)
    ['declare <4 x double> @llvm.sqrt.v4f64(<4 x double>)']
    """
    texts: dict[str, str] = {}
    declarations: set[str] = set()
    for one in sorted(set(wanted)):
        _enter(one, texts, declarations)
    return Text("".join(texts.values()), frozenset(declarations))


def _enter(one: Wanted, texts: dict[str, str], declarations: set[str]) -> None:
    """Add a function after those that it calls."""
    name, width, kind = one
    key = symbol(*one)
    if key in texts:
        return
    builder, scalar = MathBuilder(width, FORMATS[kind]), MathBuilder(1, FORMATS["double"])
    if name in circular.OF_ANGLE:
        texts.setdefault("@sad_far", far_remainder() + _far(scalar))
        texts.setdefault(symbol("far", width, kind), _each(builder))
        texts[key] = _circular(name, builder)
        declarations |= DECLARATIONS | scalar.declarations
    else:
        texts[key] = _usual(name, builder)
    declarations |= builder.declarations


def _head(builder: MathBuilder, name: str, arguments: Iterable[str], kind: str) -> str:
    bits = max(builder.width * builder.kind.bits, 128)
    given = ", ".join(f"{builder.floats} {argument}" for argument in arguments)
    return (
        f"define internal {builder.floats} {name}({given}) {kind} nounwind memory(none) "
        f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" {{\n'
    )


def _close(builder: MathBuilder, result: str) -> str:
    return "\n".join([*builder.lines, f"  ret {builder.floats} {result}", "}\n"])


def _usual(name: str, builder: MathBuilder) -> str:
    arguments = ["%x", "%y"] if name in OF_TWO else ["%x"]
    result = WRITERS[name](*(Floats(builder, argument) for argument in arguments))
    own = symbol(name, builder.width, builder.kind.name)
    return _head(builder, own, arguments, "alwaysinline") + _close(builder, result.text)


def _circular(name: str, builder: MathBuilder) -> str:
    """Return the fast function: it calls the slow one if any lane is huge."""
    x = Floats(builder, "%x")
    near = circular.OF_ANGLE[name](x, circular.near_angle(x)).text
    far = _any(builder, abs(x))
    own = symbol(name, builder.width, builder.kind.name)
    builder.lines += [
        f"  br i1 {far}, label %far, label %done",
        "far:",
        f"  %slow = call {builder.floats} {symbol('far', builder.width, builder.kind.name)}"
        f"({builder.floats} %x, {builder.floats} {near}, i64 {WHICH[name]})",
        "  br label %done",
        "done:",
        f"  %result = phi {builder.floats} [ {near}, %entry ], [ %slow, %far ]",
    ]
    return _head(builder, own, ["%x"], "alwaysinline") + "entry:\n" + _close(builder, "%result")


def _any(builder: MathBuilder, size: Floats) -> str:
    """Return whether any lane is beyond the limit."""
    mask = (size > circular.limit(builder.kind)).text
    if builder.width == 1:
        return mask
    packed = builder.emit(f"bitcast {builder.masks} {mask} to i{builder.width}")
    return builder.emit(f"icmp ne i{builder.width} {packed}, 0")


def _far(scalar: MathBuilder) -> str:
    """Return the slow function of one float64: sine, cosine or tangent."""
    parts = scalar.emit(f"call {RESULT} {NAME}(double %x)")
    r, low, quadrant = (scalar.emit(f"extractvalue {RESULT} {parts}, {i}") for i in range(3))
    angle = circular.Angle(Floats(scalar, r), Floats(scalar, low), Ints(scalar, quadrant))
    results = {
        name: write(Floats(scalar, "%x"), angle) for name, write in circular.OF_ANGLE.items()
    }
    result = results["tan"]
    for name in ("sin", "cos"):
        chosen = Mask(scalar, scalar.emit(f"icmp eq i64 %which, {WHICH[name]}"))
        result = chosen.pick(results[name], result)
    head = "define internal double @sad_far(double %x, i64 %which)"
    return f"{head} noinline cold nounwind memory(none) {{\n" + _close(scalar, result.text)


def _each(builder: MathBuilder) -> str:
    """Return the slow function of all lanes: lanes that are not huge keep their value."""
    words = {
        "{many}": builder.floats,
        "{one}": builder.kind.name,
        "{width}": str(builder.width),
        "{limit}": MathBuilder(1, FORMATS["double"]).number(circular.limit(builder.kind)).text,
        "{widen}": "fpext" if builder.kind.name == "float" else "bitcast",
        "{narrow}": "fptrunc" if builder.kind.name == "float" else "bitcast",
    }
    body = _SCALAR if builder.width == 1 else _EACH
    for word, meaning in words.items():
        body = body.replace(word, meaning)
    own = symbol("far", builder.width, builder.kind.name)
    head = _head(builder, own, ["%x", "%near"], "noinline cold")
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
