"""All ways to answer give what the plain engine gives, on random programs with fixed seeds.

`./fuzz` tries as many others as one likes.
"""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from oracle import programs
from oracle.answers import TIERS, Written, differences
from oracle.campaign import SHARES, TAME_SHARES, compare, make, ways_of
from oracle.shrinking import shrink, write_test

EACH = 100
# Of each way programs that are not among others' seeds, and how many: a minute in all.
COMPILED = {
    **dict.fromkeys(TIERS[:2], 60),
    **dict.fromkeys(TIERS[2:], 12),
    **{f"precise {tier}": 40 for tier in TIERS[:2]},
    **{f"precise {tier}": 12 for tier in TIERS[2:]},
    **{"vmap numpy": 40, "vmap optimised": 12, "python": 40, "c": 6},
    **{"rolled": 40, "precise rolled": 40, "threads": 40},
    **{"JAX": 60, "differences": 100, "strict": 100, "dask": 12, "JAX arrays": 12, "torch": 20},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 3000, EACH))
def test_plain_and_fast_and_batches(first):
    seeds = range(first, first + EACH)
    differing = [text for seed in seeds if (text := compare(seed, ["fast", "vmap"]))]
    assert not differing, "\n".join(differing)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", COMPILED)
def test_every_other_way(way):
    seeds = range(10_000, 10_000 + COMPILED[way])
    differing = [text for seed in seeds if (text := compare(seed, [way]))]
    assert not differing, "\n".join(differing)


def test_all_ways_are_tested():
    assert {"fast", "vmap", *COMPILED} == {*SHARES, *TAME_SHARES}
    drawn = {way for seed in range(20_000) for way in ways_of(seed)}
    assert drawn == {*SHARES, *TAME_SHARES}


def test_the_programs_are_long_and_large_and_write_and_branch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [programs.make(seed) for seed in range(2000)]
    names = {name for program in made for name, *_ in program.statements}
    assert {"write", "alias", "copy", "new", "branch", "loop", "move", "reduce"} <= names
    assert {program.kind for program in made} == set(programs.KINDS)
    assert max(program.xs[0].size for program in made) > 4096
    assert max(times for p in made for name, times, *_ in p.statements if name == "loop") > 100
    kinds = {"float16", "float32", "float64", "complex128"}
    assert {program.dtype.name for program in made} == kinds
    assert 0.2 < sum(program.shared for program in made) / len(made) < 0.8


def test_wild_programs_meet_special_values():
    made = [programs.make(seed, True) for seed in range(500)]
    numbers = np.concatenate([np.ravel(x) for p in made for xs in p.points for x in xs]).astype(
        float
    )
    assert np.isnan(numbers).any()
    assert np.isposinf(numbers).any()
    assert np.isneginf(numbers).any()
    assert np.signbit(numbers[numbers == 0]).any()
    assert (np.abs(numbers[numbers != 0]) < np.finfo(float).tiny).any()
    assert {type(p.xs[0]) for p in made} == {float, np.float64, np.float32, np.ndarray}
    assert {p.kind for p in made} == set(programs.WILD_KINDS)


@pytest.mark.filterwarnings("ignore")
def test_a_difference_is_shrunk_and_written_as_a_test():
    long = next(p for p in map(make, range(0, 4000, 4)) if "'raw sqrt'" in str(p.statements))
    has_root = lambda program: "'raw sqrt'" in str(program.statements)
    small = shrink(long, has_root)
    assert len(small.statements) == 1
    assert len(small.points) == len(small.points[0]) == 1
    names = {"np": np, "Written": Written, "differences": differences}
    text = write_test(small, ["fast", "tape"])
    exec(text, names)
    names[f"test_program_{small.seed}"]()
    assert len(text.splitlines()) < 12


CAMPAIGN = """
import os, time
from oracle import campaign
campaign.PATIENCE = 5  # the other programs take no time
campaign.loop_ways_of = lambda *_: ()
ends = {3: os.abort, 5: lambda: time.sleep(600), 6: lambda: 1 / 0}
campaign.compare = lambda seed, *_: ends.get(seed, str)()
campaign.main()
"""


def test_a_program_that_crashes_or_never_ends_is_reported_with_its_seed():
    asked = [sys.executable, "-c", CAMPAIGN, "--start", "0", "--count", "8", "--jobs", "2"]
    path = os.pathsep.join(sys.path)
    said = subprocess.run(
        asked, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    ).stdout
    assert "program 3 ended its process: SIGABRT" in said
    assert "program 5 ended its process: SIGALRM" in said
    assert "program 6 ended its process: status 1" in said
    assert "8 programs from seed 0: 3 differ" in said
