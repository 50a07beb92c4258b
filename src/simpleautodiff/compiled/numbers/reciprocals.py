"""One division where several numbers of a flat program are divided by the same one."""

from __future__ import annotations

from collections.abc import Iterable

from simpleautodiff.compiled.numbers.flat import Flat


def share_reciprocals(flat: Flat) -> Flat:
    """Return the program with one division where several numbers are divided by the same one.

    x/y becomes x × (1/y), which may differ from it in the last bit.
    """
    divisors: dict[int, int] = {}
    for step in flat.steps:
        if step[0] == "div":
            divisors[step[2]] = divisors.get(step[2], 0) + 1
    if flat.precise or all(count < 2 for count in divisors.values()):
        return flat
    return rewritten(flat, {y for y, count in divisors.items() if count > 1})


def rewritten(flat: Flat, shared: Iterable[int]) -> Flat:
    """Make the steps of a program anew, dividing by the `shared` ones with their reciprocals."""
    new, of, shared = Flat(flat.precise), {}, set(shared)
    new.folded = flat.folded
    for old in flat.live():
        step, kind = flat.steps[old], flat.kinds[old]
        if step[0] == "input":
            of[old] = new._new(step, kind)
        elif flat.is_zero(old):
            of[old] = new.zero(kind)
        elif step[0] == "const":
            of[old] = new._new(step, kind)
        elif step[0] == "div" and step[2] in shared:
            reciprocal = new.div(new.const(1, kind), of[step[2]])
            of[old] = new.mul(of[step[1]], reciprocal)
        else:
            of[old] = new.make(step[0], *[of[arg] for arg in step[1:]])
    new.inputs = [of[place] for place in flat.inputs]
    new.outputs = [of[place] for place in flat.outputs]
    new.guards = [(of[place], expected) for place, expected in flat.guards]
    return new.pruned()
