"""Compare every way to answer on many random programs: the command `./fuzz`.

Seeds go on from --start, which is new each time; a program that differs is shrunk to a few lines,
printed as a test that can be kept (in `tests/fast/test_kept_programs.py`), and makes the command
fail. Every program is computed by the plain engine and in another way, drawn by its seed: the fast
engine, a batch, `jit` on each of its machines, its exports, JAX, differences, the arrays of other
libraries. What takes longer is drawn less often. For one of a hundred seeds a program with loops is
compared with Python's own loops, too (`loop_programs`).

Programs run in processes of their own, a block of seeds in each, so that memory stays bounded and
a program that crashes or never ends is reported, too, with its seed.
"""

import argparse
import faulthandler
import multiprocessing
import os
import random
import signal
import sys
import time
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait

from oracle import loop_answers, loop_programs, programs
from oracle.answers import TIERS, differences
from oracle.engines import engines
from oracle.shrinking import shrink, write_test

# How often each way is drawn, of a thousand programs; the last ones are for tame programs alone.
SHARES = {
    "fast": 700, "vmap": 160, "tape": 12, "precise tape": 8, "numpy": 8, "precise numpy": 8,
    "python": 6, "vmap numpy": 4, "cheap": 3, "precise cheap": 3, "optimised": 2,
    "precise optimised": 2, "vmap optimised": 2, "rolled": 1, "precise rolled": 1, "c": 0.2,
    "threads": 1,
}  # fmt: skip
TAME_SHARES = {
    "JAX": 0.3, "differences": 60, "strict": 10, "dask": 0.5, "JAX arrays": 0.3, "torch": 1,
}  # fmt: skip
BLOCK = 1000  # programs that one process compares
PATIENCE = 600  # seconds that one program may take


def ways_of(seed, without=()):
    """Return the ways that are taken for a seed."""
    shares = SHARES if is_wild(seed) else SHARES | TAME_SHARES
    shares = {way: share for way, share in shares.items() if way not in without}
    return random.Random(f"ways {seed}").choices([*shares], [*shares.values()])


def is_wild(seed):
    """Tell whether a program leaves the domains of its functions: two of three do."""
    return seed % 3 != 1


def make(seed):
    """Return the program of a seed."""
    return programs.make(seed, wild=is_wild(seed))


def compare(seed, ways, taken=None):
    """Return how the ways to answer differ on one program; an empty text if they do not.

    `taken` counts the ways that had an answer. A second point is for what is recorded at the first,
    and for batches: the engines themselves keep nothing from one point to the next.
    """
    program = make(seed)
    if ways == ["fast"]:
        program = replace(program, points=program.points[:1])
    found = differences(program, ways, taken)
    lines = [f"  {way}: {text}" for way, text in found.items()]
    return "\n".join([str(program), *lines]) if lines else ""


def loop_ways_of(seed, quick):
    """Return the ways that a program with loops is run for a seed: for one of a hundred seeds."""
    if seed % 100:
        return []
    ways = loop_answers.QUICK if quick else [*loop_answers.WAYS]
    return random.Random(f"loops {seed}").sample(ways, 2)


def compare_loops(seed, ways):
    """Return how ways to run loops differ on one program; an empty text if they do not.

    A number may be Python's or NumPy's: on its way it may be computed without derivatives.
    """
    program = loop_programs.make(seed)
    found = loop_answers.differences(program, ways)
    lines = [f"  {way}: {kind}: {text}" for way, (kind, text) in found.items() if kind != "type"]
    return "\n".join([str(program), *lines]) if lines else ""


def report(seed, ways):
    """Return a program that differs as a test, shrunk."""
    program = make(seed)
    ways = [*differences(program, ways)]
    small = shrink(program, lambda one: differences(one, ways[:1]))
    return write_test(small, ways[:1])


# In a process of its own. -------------------------------------------------------------------------


def compare_block(seeds, without, answers):
    """Compare the programs of some seeds; send (ways that had an answer, texts) of each.

    A program that takes too long ends the process, which first says where it is.
    """
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign decides when it ends
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    for seed in seeds:
        signal.alarm(PATIENCE)
        taken, ways = Counter(), ways_of(seed, without)
        found = compare(seed, ways, taken)
        signal.alarm(PATIENCE)
        texts = [found, report(seed, ways)] if found else []
        if loops := loop_ways_of(seed, bool(without)):
            signal.alarm(PATIENCE)
            taken["loops"] += 1
            if different := compare_loops(seed, loops):
                texts[:1] = ["\n\n".join([*texts[:1], different])]
        answers.send((taken, texts))


@dataclass
class Worker:
    """A process that compares the programs of some seeds, and what is left for it to do."""

    seeds: range
    process: multiprocessing.Process
    answers: Connection


def start_worker(seeds, without):
    """Start to compare the programs of some seeds."""
    context = multiprocessing.get_context("fork")  # everything is imported already
    answers, to = context.Pipe(duplex=False)
    process = context.Process(target=compare_block, args=(seeds, without, to), daemon=True)
    process.start()
    to.close()  # so that the end of the process ends the answers
    return Worker(seeds, process, answers)


def say_end(status):
    """Say how a process ended; one that took too long was ended by SIGALRM."""
    return signal.Signals(-status).name if status < 0 else f"status {status}"


# The campaign. ------------------------------------------------------------------------------------


@dataclass
class Campaign:
    """What was asked of a campaign, and what it has found."""

    asked: argparse.Namespace
    without: tuple
    compared: int = 0
    differing: int = 0
    taken: Counter = field(default_factory=Counter)

    def run(self):
        """Compare blocks of seeds until the time is over, or there are enough."""
        seeds = range(self.asked.start, self.asked.start + self.asked.count)
        blocks = (seeds[k : k + BLOCK] for k in range(0, len(seeds), BLOCK))
        end, running = time.monotonic() + 60 * self.asked.minutes, []
        while True:
            idle = len(running) < self.asked.jobs and time.monotonic() < end
            if block := next(blocks, None) if idle else None:
                running.append(start_worker(block, self.without))
            elif running:
                running = self._listen(running)
            else:
                return

    def _listen(self, running):
        """Hear what workers have found, and return those that still run."""
        ready = wait([worker.answers for worker in running])
        return [
            left
            for worker in running
            if (left := self._hear(worker) if worker.answers in ready else worker)
        ]

    def _hear(self, worker):
        """Take one answer of a worker, or the end of it; return who does the rest, if any is left.

        A process that ends before its seeds do was ended by the next program.
        """
        seed, rest = worker.seeds[:1], worker.seeds[1:]
        try:
            taken, texts = worker.answers.recv()
        except EOFError:
            worker.process.join()
            if not seed:
                return None
            end = say_end(worker.process.exitcode)
            texts, taken = [f"program {seed[0]} ended its process: {end}"], {}
            worker = start_worker(rest, self.without)
        self._count(taken, texts)
        worker.seeds = rest
        return worker

    def _count(self, taken, texts):
        self.compared += 1
        self.taken.update(taken)
        if texts:
            self.differing += 1
            print("\n\n".join(texts), flush=True)
            if self.asked.keep:
                with open(self.asked.keep, "a", encoding="utf-8") as file:
                    file.writelines(f"\n\n{test}" for test in texts[1:])
        if self.compared % 1000 == 0:
            print(f"{self.compared} compared, {self.differing} differ", flush=True)


def main():
    """Run a campaign; return how many programs differ."""
    parser = argparse.ArgumentParser(prog="./fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", type=float, nargs="?", default=1.0, help="how long")
    parser.add_argument("--count", type=int, default=10**9, help="how many programs at most")
    parser.add_argument("--start", type=int, default=time.time_ns() // 1000, help="first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--quick", action="store_true", help="without what compiles machine code")
    parser.add_argument("--keep", default="", help="a file to which tests of failures are added")
    asked = parser.parse_args()
    os.environ.setdefault("SIMPLEAUTODIFF_CACHE", "off")
    print(f"seeds from {asked.start}", flush=True)
    machines = ("c", "JAX", "rolled", "precise rolled", "threads")
    slow = (*machines, *[way for way in SHARES if way.endswith(TIERS[2:])]) if asked.quick else ()
    engines()  # which are imported here, once
    campaign = Campaign(asked, slow)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was compared is told then, too
    with suppress(KeyboardInterrupt):
        campaign.run()
    print(f"{campaign.compared} programs from seed {asked.start}: {campaign.differing} differ")
    print(", ".join(f"{way} {number}" for way, number in campaign.taken.most_common()))
    return campaign.differing


if __name__ == "__main__":
    sys.exit(main() > 0)
