"""Share reciprocals: one division where several numbers are divided by the same one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from simpleautodiff.compiled.scalar.operations import FLOAT32, FLOAT64
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram, from_bits


def share_reciprocals(program: ScalarProgram) -> ScalarProgram:
    """Return the program with one division where several numbers are divided by the same one.

    x/y becomes x × (1/y), which may differ from it in the last bit; x/(2y) counts as a division by
    y, and so do all powers of two.
    """
    divisors = Counter([_root(program, step[2])[0] for step in program.steps if step[0] == "div"])
    if program.precise or all(count < 2 for count in divisors.values()):
        return program
    return rewrite_divisions(program, {y for y, count in divisors.items() if count > 1})


def _root(program: ScalarProgram, place: int) -> tuple[int, float]:
    """Return the number of which a step is a multiple by a power of two, and that power."""
    step = program.steps[place]
    for factor, other in (step[1:], step[:0:-1]) if step[0] == "mul" else ():
        if program.steps[factor][0] == "const" and program.dtypes[factor] in (FLOAT64, FLOAT32):
            number = float(from_bits(program.steps[factor][1], program.dtypes[factor]))
            if math.frexp(number)[0] == 0.5 and 2.0**-100 <= number <= 2.0**100:
                return other, number
    return place, 1.0


def rewrite_divisions(program: ScalarProgram, shared: Iterable[int]) -> ScalarProgram:
    """Rebuild the steps of a program, dividing by the `shared` ones through their reciprocals."""
    new, of, shared = ScalarProgram(program.precise), {}, set(shared)
    new.folded = program.folded
    for old in program.live():
        step, dtype = program.steps[old], program.dtypes[old]
        if step[0] == "input":
            of[old] = new._new(step, dtype)
        elif program.is_zero(old):
            of[old] = new.zero(dtype)
        elif step[0] == "const":
            of[old] = new._new(step, dtype)
        elif step[0] == "div" and (root := _root(program, step[2]))[0] in shared:
            reciprocal = new.div(new.const(1, dtype), of[root[0]])
            scaled = new.mul(reciprocal, new.const(1 / root[1], dtype))
            of[old] = new.mul(of[step[1]], scaled)
        else:
            of[old] = new.make(step[0], *[of[arg] for arg in step[1:]])
    new.inputs = [of[place] for place in program.inputs]
    new.outputs = [of[place] for place in program.outputs]
    new.guards = [(of[place], expected) for place, expected in program.guards]
    return new.prune()
