"""Share reciprocals: one division where several numbers are divided by the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from simpleautodiff.compiled.scalar.operations import OPERATIONS
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.compiled.scalar.simpler_steps import split_multiple


def share_reciprocals(program: ScalarProgram) -> ScalarProgram:
    """Return the program with one division where several numbers are divided by the same one.

    x/y becomes x × (1/y), which may differ from it in the last bit; x/(2y) counts as a division by
    y, and so do all powers of two.
    """
    divisors = Counter(
        [split_multiple(program, step[2])[0] for step in program.steps if step[0] == "div"]
    )
    if program.precise or all(count < 2 for count in divisors.values()):
        return program
    return rewrite_divisions(program, {y for y, count in divisors.items() if count > 1})


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
        elif step[0] == "div" and (root := split_multiple(program, step[2]))[0] in shared:
            reciprocal = new.div(new.const(1, dtype), of[root[0]])
            scaled = new.mul(reciprocal, new.const(1 / root[1], dtype))
            of[old] = new.mul(of[step[1]], scaled)
        elif step[0] not in OPERATIONS:
            of[old] = new._new((step[0], *[of[arg] for arg in step[1:]]), dtype)
        else:
            of[old] = new.make(step[0], *[of[arg] for arg in step[1:]])
    new.inputs = [of[place] for place in program.inputs]
    new.outputs = [of[place] for place in program.outputs]
    new.guards = [(of[place], expected) for place, expected in program.guards]
    new.required = [of[place] for place in program.required]
    return new.prune()
