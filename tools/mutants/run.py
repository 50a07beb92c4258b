"""Count the mutants that the tests notice, package by package, and list those they do not."""

import argparse
import ast
import multiprocessing
import os
import random
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from covering import ROOMS, Covering
from mutations import Mutant, find_mutants, mutate
from resident import Residence, changes_functions_alone, reside
from trial import SOURCES, Outcome, Trial, import_beforehand, order_tests, start_trial

PACKAGES = {  # package -> the share of mutants that is to be noticed
    **dict.fromkeys(("rules", "core", "fast", "transforms"), 0.95),
    **dict.fromkeys(("arrays", "compiled"), 0.85),
}
FORMULAS = ("rules", "compiled", "arrays")  # packages whose constants are parts of formulas
QUICK = 4.0  # seconds of tests, as they were measured, in a first round
FEW = 20  # tests that run a line; with so few those of its whole package are tried
EXPLAINED = Path(__file__).with_name("equivalent.toml")


def list_mutants(package: str) -> list[Mutant]:
    """Give all mutants of a package."""
    return [
        mutant
        for path in sorted((SOURCES / "simpleautodiff" / package).rglob("*.py"))
        for mutant in find_mutants(path, scaled=package in FORMULAS)
    ]


class Explained:
    """The mutants that compute the same, which no test can notice: by title, or by a pattern."""

    def __init__(self, entries: Sequence[dict[str, Any]]) -> None:
        self.titles = {(entry["module"], title) for entry in entries for title in entry["changes"]}
        self.patterns = [
            (entry["module"], re.compile(entry["pattern"]))
            for entry in entries
            if "pattern" in entry
        ]

    def explains(self, mutant: Mutant) -> bool:
        """Tell whether a mutant is known to compute the same."""
        module = _module(mutant)
        return (module, mutant.title) in self.titles or any(
            fnmatch(module, where) and pattern.fullmatch(mutant.title)
            for where, pattern in self.patterns
        )


def read_explained() -> Explained:
    """Give the mutants that compute the same."""
    entries = tomllib.loads(EXPLAINED.read_text()).get("mutant", []) if EXPLAINED.exists() else []
    return Explained([{"changes": (), **entry} for entry in entries])


@dataclass
class Attempt:
    """A mutant on its way through the rounds of tests."""

    mutant: Mutant
    rounds: Iterator[list[str]]
    trial: Trial
    began: float
    passed: int = 0


class Campaign:
    """Try mutants, several at a time; `start` starts a fork that runs tests."""

    def __init__(
        self, covering: Covering, jobs: int, most: float, start: Callable[..., Trial] = start_trial
    ) -> None:
        self.covering = covering
        self.jobs = jobs
        self.most = most  # seconds of tests in the second round
        self.start = start
        self.imports = 30.0  # seconds that a fork may take before its first test
        self.trusted: set[str] = set()  # tests that pass unchanged, as they are run here

    def try_all(self, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, Outcome, float]]:
        """Try each mutant until a test fails or there are no more; give outcomes and seconds."""
        waiting, running = list(mutants), []
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop(0)
                rounds = self._choose_tests(mutant)
                first = self._start(mutant, next(rounds))
                running.append(Attempt(mutant, rounds, first, time.monotonic()))
            time.sleep(0.02)
            for attempt in list(running):
                outcome = attempt.trial.outcome()
                if outcome is None:
                    continue
                attempt.passed += outcome.passed
                if outcome.failed and not self._trust(outcome.failed):
                    waiting.append(attempt.mutant)
                elif not outcome.failed and (tests := next(attempt.rounds, None)):
                    attempt.trial = self._start(attempt.mutant, tests)
                    continue
                else:
                    seconds = time.monotonic() - attempt.began
                    yield attempt.mutant, Outcome(outcome.failed, attempt.passed), seconds
                running.remove(attempt)

    def _choose_tests(self, mutant: Mutant) -> Iterator[list[str]]:
        """Choose tests for a mutant: a few that are quick, then others."""
        package, seconds = _package(mutant), self.covering.seconds
        found = self.covering.tests(mutant.path, mutant.scopes)
        name = mutant.function.partition(".")[0].lstrip("_")
        ordered = order_tests(found, seconds, package, name)
        if len(found) < FEW:  # evaluated at import, perhaps: those of the package may notice it
            own = [test for test in seconds if test.startswith(f"tests/{package}/")]
            ordered += order_tests(sorted({*own} - {*found}), seconds, package, name)
        for budget, most in ((QUICK, 2), (self.most, len(ordered))):
            chosen, files, spent = [], set(), 0.0
            for test in ordered:
                if test not in seconds:  # it was left out meanwhile
                    continue
                spent += seconds[test] + 0.002
                files.add(test.partition("::")[0])
                if chosen and (spent > budget or len(files) > most):
                    break
                chosen.append(test)
            if chosen:
                yield chosen
            ordered = [test for test in ordered if test not in chosen]

    def _start(self, mutant: Mutant, tests: Sequence[str]) -> Trial:
        limit = self.imports + 3 * sum(self.covering.seconds.get(test, 0.0) for test in tests)
        return self.start(mutant.path, make_tree(mutant), tests, limit)

    def _trust(self, test: str) -> bool:
        """Tell whether a test passes on the unchanged library; forget it if it does not."""
        if test in self.covering.seconds and test not in self.trusted:
            trial = self.start(None, None, [test], 300)
            while (outcome := trial.outcome()) is None:
                time.sleep(0.02)
            if outcome.failed:
                print(f"  fails unchanged, and is left out: {test}", flush=True)
                del self.covering.seconds[test]
                return False
            self.trusted.add(test)
        return True


def make_tree(mutant: Mutant) -> ast.Module:
    """Make the changed module."""
    scaled = _package(mutant) in FORMULAS
    return mutate(mutant.path.read_text(), mutant.number, scaled=scaled)


Tried = tuple[Mutant, Outcome, float]


def find_noticed(mutants: Sequence[Mutant], campaign: Campaign) -> Iterator[Tried]:
    """Yield the mutants of functions that tests notice in a process where these exist already."""
    inside = [one for one in mutants if changes_functions_alone(one.path, make_tree(one))]
    if not inside:
        return

    def work(residence: Residence) -> None:
        campaign.start, campaign.imports = residence.start, 5.0
        seconds = campaign.covering.seconds
        campaign.covering.seconds = {
            test: seconds[test] for test in residence.items.keys() & seconds
        }
        for tried in campaign.try_all(inside):
            answers.send(tried)

    context = multiprocessing.get_context("fork")
    found, answers = context.Pipe(duplex=False)
    process = context.Process(target=reside, args=([*campaign.covering.seconds], work))
    process.start()
    answers.close()
    while True:
        try:
            mutant, outcome, seconds = found.recv()
        except EOFError:
            process.join()
            return
        if outcome.failed in campaign.covering.seconds:
            yield mutant, outcome, seconds


def try_all(mutants: Sequence[Mutant], campaign: Campaign) -> Iterator[Tried]:
    """Try each mutant: in a process where the library is there already, then in one of its own."""
    left = list(mutants)
    for mutant, outcome, seconds in find_noticed(mutants, campaign):
        left.remove(mutant)
        yield mutant, outcome, seconds
    yield from campaign.try_all(left)


def _package(mutant: Mutant) -> str:
    return mutant.path.relative_to(SOURCES / "simpleautodiff").parts[0]


def main() -> int:
    """Try a sample of each package and say what was noticed."""
    parser = argparse.ArgumentParser(prog="./mutants", description=__doc__)
    parser.add_argument("package", nargs="*", help=f"any of {', '.join(PACKAGES)}; all by default")
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants of each package")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which ones (0)")
    parser.add_argument(
        "--seconds", type=float, default=60, help="of tests to run on one that survives (60)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose line has TEXT")
    parser.add_argument(
        "--rooms",
        default=",".join(ROOMS),
        metavar="A,B",
        help="the folders, or files, of tests to run (all)",
    )
    parser.add_argument(
        "--cases", type=int, metavar="N", help="of each parametrized test N cases only (all)"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes at a time"
    )
    parser.add_argument("--measure", action="store_true", help="measure all tests anew first")
    parser.add_argument("--verbose", action="store_true", help="also say which test noticed what")
    options = parser.parse_args()
    if unknown := set(options.package) - set(PACKAGES):
        parser.error(f"no such package: {', '.join(sorted(unknown))}")
    covering = Covering(
        options.rooms.split(","), options.jobs, cases=options.cases, anew=options.measure
    )
    import_beforehand()
    campaign = Campaign(covering, options.jobs, options.seconds)
    explained = read_explained()
    good = True
    for package in options.package or PACKAGES:
        mutants = list_mutants(package)
        wanted = [
            mutant
            for mutant in mutants
            if options.only in _line(mutant) and not explained.explains(mutant)
        ]
        if options.sample is not None and options.sample < len(wanted):
            wanted = random.Random(options.seed).sample(wanted, options.sample)
        print(f"{package}: {len(wanted)} of {len(mutants)} mutants", flush=True)
        survivors = 0
        began = time.monotonic()
        for mutant, outcome, seconds in try_all(wanted, campaign):
            if outcome.failed:
                if options.verbose:
                    by = f"by {outcome.failed}  {seconds:.1f} s"
                    print(f"  noticed  {_line(mutant)}  {by}", flush=True)
            else:
                survivors += 1
                print(f"  SURVIVED {_line(mutant)}  ({outcome.passed} tests)", flush=True)
        if wanted:
            score = 1 - survivors / len(wanted)
            good = good and score >= PACKAGES[package]
            each = (time.monotonic() - began) / len(wanted)
            print(
                f"{package}: {len(wanted) - survivors} of {len(wanted)} noticed, {score:.1%}"
                f" (at least {PACKAGES[package]:.0%}), {each:.1f} s each",
                flush=True,
            )
    return 0 if good else 1


def _module(mutant: Mutant) -> str:
    return str(mutant.path.relative_to(SOURCES / "simpleautodiff"))


def _line(mutant: Mutant) -> str:
    return f"{_module(mutant)}:{mutant.line} [{mutant.kind}] {mutant.title}"


if __name__ == "__main__":
    raise SystemExit(main())
