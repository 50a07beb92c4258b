"""Compare every way to answer on many random programs: the command `./fuzz`.

Seeds go on from --start, which is new each time; a program that differs is shrunk to a few lines,
printed as a test that can be kept (in `tests/fast/test_kept_programs.py`), and makes the command
fail. Every program is computed by the plain engine and in two other ways, drawn by its seed: the
fast engine, a batch, `jit` on each of its machines, its exports, JAX, differences, the arrays of
other libraries. What compiles machine code is drawn less often, since it takes longer.
"""

import argparse
import os
import random
import sys
import time
import warnings
from collections import Counter

from oracle import programs
from oracle.answers import TIERS, differences
from oracle.shrinking import shrink, write_test

# How often each way is drawn: the first are for all programs, the others for tame ones alone.
SHARES = {
    "fast": 24, "vmap": 16, "tape": 16, "precise tape": 8, "numpy": 8, "precise numpy": 8,
    "python": 8, "vmap numpy": 4, "cheap": 4, "precise cheap": 4, "optimised": 2,
    "precise optimised": 2, "vmap optimised": 2, "rolled": 2, "precise rolled": 2, "c": 0.1,
}  # fmt: skip
TAME_SHARES = {
    "JAX": 0.5, "differences": 8, "strict": 8, "dask": 0.3, "JAX arrays": 0.5, "torch": 0.5,
}  # fmt: skip


def ways_of(seed, without=()):
    """Return the ways that are taken for a seed."""
    shares = SHARES if is_wild(seed) else SHARES | TAME_SHARES
    shares = {way: share for way, share in shares.items() if way not in without}
    drawn = random.Random(f"ways {seed}").choices([*shares], [*shares.values()], k=2)
    return sorted(set(drawn))


def is_wild(seed):
    """Tell whether a program leaves the domains of its functions: two of three do."""
    return seed % 3 != 1


def make(seed):
    """Return the program of a seed."""
    return programs.make(seed, wild=is_wild(seed))


def compare(seed, ways, taken=None):
    """Return how the ways to answer differ on one program; an empty text if they do not.

    `taken` counts the ways that had an answer.
    """
    program = make(seed)
    found = differences(program, ways, taken)
    lines = [f"  {way}: {text}" for way, text in found.items()]
    return "\n".join([str(program), *lines]) if lines else ""


def report(seed, ways):
    """Return a program that differs as a test, shrunk."""
    program = make(seed)
    ways = [*differences(program, ways)]
    small = shrink(program, lambda one: differences(one, ways[:1]))
    return write_test(small, ways[:1])


def main():
    """Run a campaign; return how many programs differ."""
    parser = argparse.ArgumentParser(prog="./fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", type=float, nargs="?", default=1.0, help="how long")
    parser.add_argument("--count", type=int, default=10**9, help="how many programs at most")
    parser.add_argument("--start", type=int, default=time.time_ns() // 1000, help="first seed")
    parser.add_argument("--quick", action="store_true", help="without what compiles machine code")
    parser.add_argument("--keep", default="", help="a file to which tests of failures are added")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("SIMPLEAUTODIFF_CACHE", "off")
    print(f"seeds from {asked.start}", flush=True)
    machines = ("c", "JAX", "rolled", "precise rolled")
    slow = (*machines, *[way for way in SHARES if way.endswith(TIERS[2:])]) if asked.quick else ()
    end, differing, taken, count = time.monotonic() + 60 * asked.minutes, 0, Counter(), 0
    while time.monotonic() < end and count < asked.count:
        seed = asked.start + count
        ways = ways_of(seed, slow)
        found = compare(seed, ways, taken)
        count += 1
        if found:
            differing += 1
            test = report(seed, ways)
            print(f"{found}\n\n{test}", flush=True)
            if asked.keep:
                with open(asked.keep, "a", encoding="utf-8") as file:
                    file.write(f"\n\n{test}")
        if count % 1000 == 0:
            print(f"{count} compared, {differing} differ", flush=True)
    print(f"{count} programs from seed {asked.start}: {differing} differ")
    print(", ".join(f"{way} {number}" for way, number in taken.most_common()))
    return differing


if __name__ == "__main__":
    sys.exit(main() > 0)
