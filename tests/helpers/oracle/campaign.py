"""Compare the engines on many random programs.

Run it by: PYTHONPATH=tests/helpers python -m oracle.campaign --count 1000000

Seeds go on from --start, which is new each time; a program that differs is printed with its
statements, and makes the command fail. Every --jit-th program is also compiled, and every --jax-th
whose meaning is shared computed by JAX.
"""

import argparse
import sys
import time
import warnings

import oracle.programs as programs
from oracle.engines import engines


def compare(seed, jit=False, jax=False):
    """Return how the engines differ on one program; an empty text if they do not."""
    plain, fast = engines()
    program = programs.make(seed)
    expected = programs.outcome(plain, program)
    found = {"fast": programs.with_limits(fast, program)}
    if jit:
        found["jit"] = programs.compiled(fast, program)
    if jax and program.shared:
        found["JAX"] = programs.by_jax(program)
    differing = [(name, programs.difference(program, expected, got)) for name, got in found.items()]
    lines = [f"  {name}: {text}" for name, text in differing if text]
    return "\n".join([str(program), *lines]) if lines else ""


def main():
    """Run a campaign; return how many programs differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--start", type=int, default=time.time_ns() // 1000, help="first seed")
    parser.add_argument("--jit", type=int, default=0, help="compile every so many")
    parser.add_argument("--jax", type=int, default=0, help="ask JAX every so many times")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"programs {asked.start} to {asked.start + asked.count - 1}", flush=True)
    differing = 0
    for i in range(asked.count):
        jit, jax = (bool(every) and not i % every for every in (asked.jit, asked.jax))
        found = compare(asked.start + i, jit, jax)
        if found:
            differing += 1
            print(found, flush=True)
        if (i + 1) % 10_000 == 0:
            print(f"{i + 1} compared, {differing} differ", flush=True)
    print(f"{asked.count} compared, {differing} differ")
    return differing


if __name__ == "__main__":
    sys.exit(main() > 0)
