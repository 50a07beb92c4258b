"""Random programs with loops give what the same programs with Python's loops give, in every way.

`./fuzz` tries as many others as one likes.
"""

import random

import numpy as np
import pytest

from oracle.campaign import compare_loops
from oracle.loop_answers import QUICK, WAYS, answer
from oracle.loop_programs import OF_ARRAY, OF_NUMBER, make

EACH = 25
# Programs that differed, by what was the matter.
FOUND = {
    "a state that is not used has no adjoint": (43, 46, 57, 102, 136, 168, 333, 380),
    "a tangent that is not there yet": (20, 384),
    "an adjoint that is not there yet": (65, 270, 392),
    "elements that were overwritten": (22, 154),
    "seeds of Jacobians": (181,),
    "a state that a step writes to": (356, 366),
    "a node of outside that a step writes": (5, 14, 59, 221, 357, 376),
    "seeds of Jacobians behind a choice": (5505, 6244),
    "a root at 0 that only some directions have": (6268,),
    "a number that Python does not divide by": (6366,),
    "an array of constants that a row is written to": (70624,),
    "an array of constants that went through a loop with snapshots": (9235100, 9253200, 9287200),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(2000, 2200, EACH))
def test_loops_are_pythons(first):
    seeds = range(first, first + EACH)
    ways = {seed: random.Random(seed).sample(QUICK, 3) for seed in seeds}
    differing = [text for seed in seeds if (text := compare_loops(seed, ways[seed]))]
    assert not differing, "\n".join(differing)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cause", FOUND)
def test_loops_that_differed_are_pythons(cause):
    differing = [text for seed in FOUND[cause] if (text := compare_loops(seed, QUICK))]
    assert not differing, "\n".join(differing)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", [way for way in WAYS if way not in QUICK])
def test_compiled_loops_are_pythons(way):
    differing = [text for seed in range(3000, 3012) if (text := compare_loops(seed, [way]))]
    assert not differing, "\n".join(differing)


def test_the_programs_have_every_kind_of_loop():
    made = [make(seed) for seed in range(300)]
    texts = ["\n".join(program.loops) for program in made]
    for part in (
        *("ad.scan", "ad.fori_loop", "ad.while_loop", "ad.cond", "checkpoint=1", "reverse=True"),
        *("fori_loop(0, 0,", '{"a": a', "v[-1] =", "    def body", "if "),
    ):
        assert any(part in text for text in texts), part
    assert {program.kind for program in made} == {*OF_NUMBER, *OF_ARRAY}
    numbers = np.concatenate([np.ravel(x) for program in made for x in program.points])
    assert np.isnan(numbers).any()
    assert np.isinf(numbers).any()
    assert np.signbit(numbers[numbers == 0]).any()


@pytest.mark.filterwarnings("ignore")
def test_most_of_the_programs_have_an_answer():
    answers = [found for seed in range(100) for found in answer(make(seed))]
    assert sum(isinstance(found, Exception) for found in answers) < len(answers) / 5
