"""Broken engines: the rungs of the ladder with one fault each, to find and to mend.

A fault is a change of the rung's text, so what a learner reads is what runs. `hint` is the name of
the misconception, as the grader says it. A fault has its bare name on the first rung that can have
it (the paper's program apart), and on the others the number of the rung behind it: `sign_of_sub` is
on rung 1, `sign_of_sub_0` and `sign_of_sub_5` are on those.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.faults import FAULTS_OF_RUNGS, Changes, Fault
from simpleautodiff.learn.rungs import RUNGS, rung


@dataclass(frozen=True)
class Bug:
    """One fault of one rung: the texts that are replaced, and the misconception behind it."""

    name: str
    rung: int
    hint: str
    changes: Changes


def _list_bugs() -> Iterator[Bug]:
    """Yield each fault on each rung whose text has the lines that it changes."""
    texts = [rung.text for rung in RUNGS[:-1]]  # the last one is the library itself
    for fault in FAULTS_OF_RUNGS:
        made = [_fit(fault, text) for text in texts]
        home = next(number for number, changes in enumerate(made) if number and changes)
        for number, changes in enumerate(made):
            if changes:
                name = fault.name if number == home else f"{fault.name}_{number}"
                yield Bug(name, number, fault.hint, changes)


def _fit(fault: Fault, text: str) -> Changes:
    """Return the changes that make a fault in a text; () if it lacks the lines to change."""
    fits = (v for v in fault.versions if all(old in text for old, _ in v))
    return next(fits, ())


BUGS = {bug.name: bug for bug in _list_bugs()}


def source(*names: str) -> str:
    """Return the text of a broken engine; several faults of one rung can be had at once.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> "next(d for q, d in node.edges if q is p)" in learn.bugs.source("first_place")
    True
    """
    chosen = [_bug(name) for name in names]
    if len({bug.rung for bug in chosen}) != 1:
        raise ArgumentError("the faults of one engine belong to one rung; see learn.bugs.BUGS")
    text = rung(chosen[0].rung).text
    for bug in chosen:
        for old, new in bug.changes:
            if old not in text:
                raise ArgumentError(
                    f"{' and '.join(names)} change the same lines: they exclude one another"
                )
            text = text.replace(old, new)
    return text


def load(*names: str) -> ModuleType:
    """Load a broken engine.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> engine = learn.bugs.load("first_place")
    >>> x = engine.Node(3)
    >>> engine.reverse(x - x)[x]
    2
    """
    module = ModuleType(f"broken_{'_and_'.join(names)}")
    sys.modules[module.__name__] = module  # where dataclasses look for their own names
    exec(compile(source(*names), f"<broken: {', '.join(names)}>", "exec"), vars(module))
    return module


def choose(number: int, seed: int = 0) -> str:
    """Choose a fault of a rung, to be found: return its name.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> learn.bugs.BUGS[learn.bugs.choose(3, seed=1)].rung
    3
    """
    names: Sequence[str] = [bug.name for bug in BUGS.values() if bug.rung == number]
    if not names:
        raise ArgumentError(f"there are broken engines of rungs 0 to 8, not {number!r}")
    return random.Random(seed).choice(names)


def _bug(name: str) -> Bug:
    if name not in BUGS:
        raise ArgumentError(f"there is no broken engine {name!r}; there are {', '.join(BUGS)}")
    return BUGS[name]
