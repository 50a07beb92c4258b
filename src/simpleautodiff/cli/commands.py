"""One function for each command."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from simpleautodiff.cli import rendering, write_output
from simpleautodiff.cli.completion import write_completion
from simpleautodiff.cli.derivatives import (
    compute_partial,
    derive_problem,
    mark_undefined,
    write_label,
    write_labels,
)
from simpleautodiff.cli.function_list import list_functions
from simpleautodiff.cli.json_answers import to_lists, write_json
from simpleautodiff.cli.options import COMMANDS, make_parser
from simpleautodiff.cli.problem import Problem, read_problem
from simpleautodiff.cli.progress import Progress, show_progress, watch_progress
from simpleautodiff.cli.site.build import write_site
from simpleautodiff.compiled.native import disk_cache as cache
from simpleautodiff.display.notation.missing import write_missing
from simpleautodiff.errors import CheckError, ConstantError, FormulaError
from simpleautodiff.program.check_grad import Check, check_grad
from simpleautodiff.program.written_numbers import use_digits


def run(options: argparse.Namespace) -> None:
    """Run one command; for a constant formula, say only that its derivatives are 0."""
    try:
        with use_digits(getattr(options, "digits", None)):
            _COMMANDS[options.command](options)
    except ConstantError as error:
        if getattr(options, "format", "text") != "text":
            raise
        write_output.write(str(error), getattr(options, "output", None))


def _problem(options: argparse.Namespace) -> Problem:
    return read_problem(options.formula, options.point)


def _record(options: argparse.Namespace, progress: Progress) -> rendering.RecordedProblem:
    """Record what is to be shown: the function, or its derivative of one order less."""
    problem = _problem(options)
    wrt = getattr(options, "wrt", None) or problem.names[0]
    problem.index(wrt)
    order, mode = getattr(options, "order", 1), getattr(options, "mode", None)
    derived = derive_problem(problem, wrt, order - 1)
    derived = replace(derived, function=progress.watch(derived.function, "recording"))
    unfold = getattr(options, "unfold", False) or getattr(options, "format", "") == "json"
    recorded = rendering.RecordedProblem(derived, wrt, mode, unfold)
    progress.step()
    return recorded


def _write(options: argparse.Namespace, text: str) -> None:
    write_output.write(text, options.output, fit=options.format == "text")


def _explain(options: argparse.Namespace) -> None:
    parts = rendering.count_parts(options.mode)
    with watch_progress("explaining", 1 + parts) as progress:
        shown = _record(options, progress)
        text = rendering.explanation(shown, options.format, progress.step)
    _write(options, text)


def _table(options: argparse.Namespace) -> None:
    with watch_progress("table", 2) as progress:
        shown = _record(options, progress)
        text = rendering.table(shown, options.format)
    _write(options, text)


def _graph(options: argparse.Namespace) -> None:
    with watch_progress("drawing", 2) as progress:
        shown = _record(options, progress)
        if options.format in ("pdf", "png"):
            rendering.save_graph(shown, options.format, options.output, options.show)
            return
        text = rendering.graph(shown, options.format, options.show)
    _write(options, text)


def _grad(options: argparse.Namespace) -> None:
    problem = _problem(options)
    wanted = options.wrt.split(",") if options.wrt else problem.names
    wanted = [name.strip() for name in wanted]
    ways = list(combinations_with_replacement(wanted, options.order))
    mode = options.mode or ("reverse" if options.order == 1 else "forward")
    found = {}
    with Progress("differentiating", len(ways)) as progress:
        watched = replace(problem, function=progress.watch(problem.function))
        for names in ways:
            found[names] = compute_partial(watched, names, mode)
            progress.step()
    found = mark_undefined(problem, found)
    if options.format == "json":
        derivatives = {",".join(names): to_lists(number) for names, number in found.items()}
        text = _json(problem, order=options.order, mode=mode, derivatives=derivatives)
    elif len(found) == 1:
        text = _digits(next(iter(found.values())))
    else:
        text = "\n".join(
            f"{write_label(problem, names)} = {_digits(d)}" for names, d in found.items()
        )
    _write(options, text)


def _check(options: argparse.Namespace) -> None:
    problem = _problem(options)
    with watch_progress("checking") as progress:
        watched = progress.watch(problem.function)
        checks = check_grad(watched, *problem.values, order=options.order)
    verdict = _verdict(problem, checks)
    if options.format == "json":
        agreed = [asdict(check) for check in checks]
        _write(options, _json(problem, order=options.order, checks=agreed, verdict=verdict))
        return
    labels = write_labels(problem, options.order)
    if len(labels) != len(checks):  # of many numbers, random directions and sums are checked
        labels = [f"direction {number}" for number in range(1, len(checks) + 1)]
    lines = []
    for label, check in zip(labels, checks, strict=True):
        lines.append(label)
        between = f" ± {check.error:.1g}" if check.error else ""
        lines.append(f"  forward       {_digits(check.forward)}")
        lines.append(f"  reverse       {_digits(check.reverse)}")
        lines.append(f"  {check.method:12}  {_digits(check.reference)}{between}")
    _write(options, "\n".join([*lines, verdict]))


def _verdict(problem: Problem, checks: list[Check]) -> str:
    """Say what agrees; outside the domain and near a kink or a jump, differences show nothing."""
    missing = write_missing({problem.y: problem.function(*problem.values)})
    if missing:
        return f"Outside the domain there is nothing to compare. {missing}"
    if all(check.error <= 1e-3 * abs(check.reference) + 1e-9 for check in checks):
        return "They agree."
    return "Forward and reverse mode agree. Differences cannot decide: a kink or a jump is near."


def _source(options: argparse.Namespace) -> None:
    problem = _problem(options)
    wrt, order, mode = options.wrt or "", options.order, options.mode
    with watch_progress("source") as progress:
        watched = replace(problem, function=progress.watch(problem.function, "recording"))
        text = rendering.source(watched, wrt, order, mode, options.format)
    write_output.write(text, options.output)


def _step(options: argparse.Namespace) -> None:
    with watch_progress("stepping", 2) as progress:
        stepper = rendering.prepare_steps(_record(options, progress))
    rendering.step(stepper)


def _explore(options: argparse.Namespace) -> None:
    if options.formula is None:
        if options.output:
            raise FormulaError("explore FORMULA x=1 --output page.html writes a page")
        return rendering.serve(options.port)
    problem = _problem(options)
    if options.output:
        with watch_progress("exploring") as progress:
            watched = replace(problem, function=progress.watch(problem.function, "recording"))
            return rendering.explore(watched, options.output)
    if problem.file:
        raise FormulaError(
            f"a function of a file is shown on a page of its own: "
            f"explore {options.formula} ... --output page.html"
        )
    return rendering.serve(options.port, problem)


def _grade(options: argparse.Namespace) -> None:
    from simpleautodiff.learn.class_report import grade_class
    from simpleautodiff.learn.grading.grade import grade

    needs = [operation.strip() for operation in options.needs.split(",")]
    settings: dict[str, Any] = {"seed": options.seed, "needs": needs}
    settings["progress"] = lambda all: show_progress(all, "grading")
    if os.path.isdir(options.engine):
        _write(options, grade_class(options.engine, options.task, **settings).to(options.format))
        return
    names = dict(pair.split("=", 1) for pair in options.names.split(",") if "=" in pair)
    report = grade(
        options.engine,
        options.task,
        shape=options.shape,
        names={key.strip(): name.strip() for key, name in names.items()},
        **settings,
    )
    _write(options, report.to(options.format))
    if not report.ok:
        raise CheckError(f"{options.engine} is not right yet: {', '.join(report.wrong)}")


def _make_exact(x: float) -> Fraction | float:
    """Return the fraction that was typed: 0.3 or 1/3; a number that is none stays a float."""
    if not math.isfinite(x):
        return x
    typed = Fraction(str(x)) if len(repr(x)) < 12 else Fraction(x).limit_denominator(10_000)
    return typed if float(typed) == x else x


def _exercise(options: argparse.Namespace) -> None:
    from simpleautodiff.learn.exercises import exercise

    problem = _problem(options)
    if options.wrt:
        problem.index(options.wrt)
    values = [_make_exact(v) if isinstance(v, float) else v for v in problem.values]
    settings = {"wrt": options.wrt or "", "seed": options.seed, "names": problem.names}
    sheet = exercise(problem.function, *values, about=options.about, **settings)
    if options.quiz:
        sheet.quiz()
    else:
        _write(options, sheet.to(options.format, options.answers))


def _paper(options: argparse.Namespace) -> None:
    with watch_progress("the paper"):
        files = rendering.paper(options.folder)
    write_output.write(f"wrote {files} files to {options.folder}")


def _site(options: argparse.Namespace) -> None:
    with watch_progress("the site"):
        site = write_site(options.folder)
    write_output.write(str(site))


def _cache(options: argparse.Namespace) -> None:
    kept = cache.clear() if options.clear else cache.contents()
    if kept.folder is None:
        write_output.write(f"{cache.VARIABLE} says that nothing is kept")
        return
    objects = f"{kept.entries} object{'' if kept.entries == 1 else 's'}, {kept.size} bytes"
    write_output.write(f"{kept.folder}\n{'removed ' if options.clear else ''}{objects}")


def _functions(options: argparse.Namespace) -> None:
    write_output.write(list_functions(options.word, write_output.text_width()))


def _completion(options: argparse.Namespace) -> None:
    parsers = {name: make_parser(name) for name in COMMANDS}
    write_output.write(write_completion(options.shell, parsers))


_COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "explain": _explain,
    "grad": _grad,
    "table": _table,
    "graph": _graph,
    "source": _source,
    "step": _step,
    "explore": _explore,
    "check": _check,
    "grade": _grade,
    "exercise": _exercise,
    "paper": _paper,
    "site": _site,
    "cache": _cache,
    "functions": _functions,
    "completion": _completion,
}


def _digits(number: Any) -> str:
    """Write a number in 17 significant digits, which identify a float exactly."""
    listed = to_lists(number)
    if isinstance(listed, dict):
        return f"{{{', '.join(f'{key}: {_digits(one)}' for key, one in listed.items())}}}"
    if isinstance(listed, list | tuple):
        return f"[{', '.join(map(_digits, listed))}]"
    return str(listed) if isinstance(listed, complex) else f"{float(listed):.17g}"


def _json(problem: Problem, **answer: Any) -> str:
    return write_json({"formula": problem.text, "at": problem.point, **answer})
