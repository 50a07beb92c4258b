"""The fast engine, `jit` and JAX give what the plain engine gives, on random programs.

`oracle/campaign.py` among the helpers tries as many others as one likes.
"""

import warnings

import pytest

from oracle import programs
from oracle.campaign import compare

EACH = 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 4000, EACH))
def test_plain_and_fast(first):
    differing = [text for seed in range(first, first + EACH) if (text := compare(seed))]
    assert not differing, "\n".join(differing)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(10_000, 10_060, 10))
def test_compiled(first):
    differing = [text for seed in range(first, first + 10) if (text := compare(seed, jit=True))]
    assert not differing, "\n".join(differing)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(20_000, 20_200, 20))
def test_jax(first):
    differing = [text for seed in range(first, first + 20) if (text := compare(seed, jax=True))]
    assert not differing, "\n".join(differing)


def test_the_programs_are_long_and_large_and_write_and_branch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [programs.make(seed) for seed in range(2000)]
    names = {name for program in made for name, *_ in program.statements}
    assert {"write", "alias", "copy", "new", "branch", "loop", "move", "reduce"} <= names
    assert {program.kind for program in made} == set(programs.KINDS)
    assert max(program.xs[0].size for program in made) > 4096
    assert max(times for p in made for name, times, *_ in p.statements if name == "loop") > 100
    assert {program.xs[0].dtype.name for program in made} == {"float32", "float64"}
    assert 0.2 < sum(program.shared for program in made) / len(made) < 0.8
