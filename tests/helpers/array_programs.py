"""Array programs run in all ways: compiled = NumPy line by line = as the function is."""

import numpy as np

from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
from simpleautodiff.compiled.running.array_program import ArrayProgram
from simpleautodiff.values.pytree import flatten

PRODUCTS = ("BLAS", "in registers")  # of matrices


def record(f, *args):
    level = SymbolLevel()
    leaves, rebuild = flatten(args)
    with level, np.errstate(all="ignore"):
        symbols = [level.input(leaf) for leaf in leaves]
        results, _ = flatten(f(*rebuild(iter(symbols))))
    return level.finish(results, len(leaves))


def close(got, want, rtol, atol):
    assert np.shape(got) == np.shape(want)
    assert np.result_type(got) == np.result_type(want)
    np.testing.assert_allclose(got, want, rtol, atol)


def agree(f, *args, rtol=1e-12, atol=1e-12, precise=False):
    """Run a function in all ways, return the compiled program."""
    recorded = record(f, *args)
    leaves, _ = flatten(args)
    before = [np.copy(leaf) for leaf in leaves]
    program = ArrayProgram(recorded, precise=precise)
    status, got = program.run(leaves)
    replayed, same = ArrayProgram(recorded, native=False).run(leaves)
    with np.errstate(all="ignore"):
        eager, _ = flatten(f(*args))
    assert status == replayed == 0
    for g, s, e in zip(got, same, eager, strict=True):
        close(g, e, rtol, atol)
        close(s, e, rtol, atol)
    for leaf, copy in zip(leaves, before, strict=True):
        np.testing.assert_array_equal(leaf, copy)
    own = [*got, *leaves]
    for i, result in enumerate(got):
        assert not any(np.may_share_memory(result, x) for j, x in enumerate(own) if j != i)
    again = program.run(leaves)[1]
    for g, a in zip(got, again, strict=True):
        np.testing.assert_array_equal(g, a)
        assert not (np.shape(g) and np.may_share_memory(g, a))
    return program


def uses(program, word):
    """Count the pieces of work of one kind, or of several."""
    return sum(line.startswith(word) for line in program.explain())
