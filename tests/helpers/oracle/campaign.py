"""Compare every way to answer on many random programs: the command `./fuzz`.

Seeds go on from --start, which is new each time; a program that differs is shrunk to a few lines,
printed as a test that can be kept (in `tests/fast/test_kept_programs.py`), and makes the command
fail. Every program is computed by both engines and as a batch; every few also by `jit` on each of
its machines, by its exports, by JAX, by differences, and by another library's arrays.
"""

import argparse
import os
import sys
import time
import warnings
from collections import Counter

from oracle import programs
from oracle.answers import TIERS, differences
from oracle.shrinking import shrink, write_test

# How often each way is taken, among the programs whose seeds follow each other.
EVERY = {
    "fast": 1, "vmap": 1, "tape": 2, "numpy": 4, "precise tape": 4, "python": 8,
    "precise numpy": 16, "vmap numpy": 16, "cheap": 32, "precise cheap": 64, "optimised": 64,
    "vmap optimised": 64, "precise optimised": 128, "JAX": 64, "differences": 8, "strict": 8,
    "c": 512, "rolled": 64, "precise rolled": 64,
}  # fmt: skip


def ways_of(seed):
    """Return the ways that are taken for a seed."""
    return [way for way, every in EVERY.items() if seed % every == 0]


def make(seed):
    """Return the program of a seed: of two that follow each other one is wild."""
    return programs.make(seed, wild=bool(seed % 4 != 1))


def compare(seed, ways=None):
    """Return how the ways to answer differ on one program; an empty text if they do not."""
    program = make(seed)
    found = differences(program, ways_of(seed) if ways is None else ways)
    lines = [f"  {way}: {text}" for way, text in found.items()]
    return "\n".join([str(program), *lines]) if lines else ""


def report(seed):
    """Return a program that differs as a test, shrunk."""
    program = make(seed)
    ways = [*differences(program, ways_of(seed))]
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
    if asked.quick:
        for way in ("c", "JAX", *[way for way in EVERY if way.endswith(TIERS[2:])]):
            del EVERY[way]
    end, differing, taken, count = time.monotonic() + 60 * asked.minutes, 0, Counter(), 0
    while time.monotonic() < end and count < asked.count:
        seed = asked.start + count
        taken.update(ways_of(seed))
        found = compare(seed)
        count += 1
        if found:
            differing += 1
            text = f"{found}\n\n{report(seed)}"
            print(text, flush=True)
            if asked.keep:
                with open(asked.keep, "a", encoding="utf-8") as file:
                    file.write(f"\n\n{report(seed)}")
        if count % 1000 == 0:
            print(f"{count} compared, {differing} differ", flush=True)
    print(f"{count} programs from seed {asked.start}: {differing} differ")
    print(", ".join(f"{way} {number}" for way, number in taken.items()))
    return differing


if __name__ == "__main__":
    sys.exit(main() > 0)
