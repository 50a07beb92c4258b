"""The text of the vector functions that a kernel asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from simpleautodiff.jit.vectormath import circular, error, exponential, inverse, logarithm, powers
from simpleautodiff.jit.vectormath.far import DECLARATIONS, NAME, RESULT, far_remainder
from simpleautodiff.jit.vectormath.lanes import KINDS, Bits, Lanes, Number

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
    lanes, far = Lanes(width, KINDS[kind]), Lanes(width, KINDS[kind])
    if name not in circular.OF_ANGLE:
        texts[key] = _usual(name, lanes)
    else:
        if kind == "float":
            _enter((name, width, "double"), texts, declarations)
        texts.setdefault(NAME, far_remainder())
        texts[key] = _far(name, far) + _circular(name, lanes)
        declarations |= DECLARATIONS
    declarations |= lanes.declarations | far.declarations


def _head(lanes: Lanes, name: str, arguments: Iterable[str], kind: str) -> str:
    bits = max(lanes.width * 64, 128)
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
        f"  %slow = call {lanes.floats} {_far_symbol(name, lanes)}"
        f"({lanes.floats} %x, {lanes.floats} {near})",
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


def _far_symbol(name: str, lanes: Lanes) -> str:
    return symbol(f"far_{name}", lanes.width, lanes.kind.name)


def _by_double(name: str, lanes: Lanes) -> Number:
    """Return the slow result of float32: as float64."""
    wide = lanes.type_of("double")
    x = lanes.emit(f"fpext {lanes.floats} %x to {wide}")
    value = lanes.emit(f"call {wide} {symbol(name, lanes.width, 'double')}({wide} {x})")
    return Number(lanes, lanes.emit(f"fptrunc {wide} {value} to {lanes.floats}"))


def _by_lanes(name: str, lanes: Lanes) -> Number:
    """Return the slow result of float64: every lane's remainder by itself, then all together."""
    r, low, quadrant = _remainders(lanes)
    angle = circular.Angle(Number(lanes, r), Number(lanes, low), Bits(lanes, quadrant))
    return circular.OF_ANGLE[name](Number(lanes, "%x"), angle)


def _far(name: str, lanes: Lanes) -> str:
    """Return the slow function; lanes that are not huge keep the result that they have."""
    slow = (_by_double if lanes.kind.name == "float" else _by_lanes)(name, lanes)
    huge = abs(Number(lanes, "%x")) > circular.limit(lanes.kind)
    result = huge.pick(slow, Number(lanes, "%near"))
    head = _head(lanes, _far_symbol(name, lanes), ["%x", "%near"], "noinline cold")
    return head + _close(lanes, result.text)


def _remainders(lanes: Lanes) -> list[str]:
    if lanes.width == 1:
        each = lanes.emit(f"call {RESULT} {NAME}(double %x)")
        return [lanes.emit(f"extractvalue {RESULT} {each}, {part}") for part in range(3)]
    types = [("double", lanes.floats), ("double", lanes.floats), ("i64", lanes.ints)]
    vectors = ["poison"] * 3
    for lane in range(lanes.width):
        scalar = lanes.emit(f"extractelement {lanes.floats} %x, i64 {lane}")
        each = lanes.emit(f"call {RESULT} {NAME}(double {scalar})")
        for part, (one, many) in enumerate(types):
            value = lanes.emit(f"extractvalue {RESULT} {each}, {part}")
            text = f"insertelement {many} {vectors[part]}, {one} {value}, i64 {lane}"
            vectors[part] = lanes.emit(text)
    return vectors
