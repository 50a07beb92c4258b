"""The diagnosis in words: text for a terminal, JSON, JUnit's XML, and a page."""

from __future__ import annotations

import html
import json
import re
import textwrap
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from simpleautodiff.display.figures.figure import figure
from simpleautodiff.display.trace import trace_formula
from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.grading.answers import answer
from simpleautodiff.learn.grading.bank import Case
from simpleautodiff.learn.grading.case_run import CaseRun
from simpleautodiff.learn.grading.mistakes import LIMIT, Mistake
from simpleautodiff.learn.grading.report_page import write_page
from simpleautodiff.learn.graphs import Graph, write_step
from simpleautodiff.program.formula import parse

MOST_STEPS_DRAWN = 8  # steps: what is larger is no picture to look at


@dataclass(frozen=True)
class Finding:
    """One misconception, the smallest run that shows it, and how certain that is."""

    mistake: Mistake
    run: CaseRun | None
    certain: bool = True
    detail: str = ""
    others: tuple[str, ...] = ()  # misconceptions that would give the same numbers
    operation: str = ""  # the operation that is wrong, if it is a single one
    cases: frozenset[str] = frozenset()  # the names of the graphs that fail because of it


@dataclass(frozen=True)
class Report:
    """What the grader found; `str` writes the diagnosis."""

    name: str
    abilities: dict[str, Any]
    runs: tuple[CaseRun, ...]
    findings: tuple[Finding, ...]
    task: str = ""
    skipped: tuple[Case, ...] = ()  # cases beyond the abilities of the engine

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; limits, such as depth, are reported and are not wrong."""
        return not self.wrong

    @property
    def wrong(self) -> tuple[str, ...]:
        """The names of the misconceptions that were found, without limits."""
        return tuple(f.mistake.name for f in self.findings if f.mistake.kind != LIMIT)

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The names of the misconceptions that were found, in the order in which to fix them."""
        return tuple(finding.mistake.name for finding in self.findings)

    @property
    def cases(self) -> dict[str, bool]:
        """Each graph of the bank that was tried, and whether all of its runs were right."""
        tried: dict[str, bool] = {}
        for run in self.runs:
            tried[run.case.name] = tried.get(run.case.name, True) and run.ok
        return tried

    @property
    def unexplained(self) -> tuple[CaseRun, ...]:
        """The failing runs that no finding explains, small graphs first."""
        explained = {name for finding in self.findings for name in finding.cases}
        rest = [run for run in self.runs if not run.ok and run.case.name not in explained]
        return tuple(sorted(rest, key=lambda run: len(run.case.graph.steps)))

    def __str__(self) -> str:
        return write_text(self)

    def __repr__(self) -> str:
        found = ", ".join(self.mistakes) or "nothing is wrong"
        return f"<Report on {self.name}: {found}; print it for the diagnosis>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self)}

    def to(self, format: str) -> str:
        """Write the report as "text", "json", "junit" or "html"."""
        writers = {"text": write_text, "json": write_json, "junit": write_junit, "html": write_html}
        if format not in writers:
            raise ArgumentError(f"a report is written as {', '.join(writers)}, not {format!r}")
        return writers[format](self)


def write_number(x: Any) -> str:
    """Write a number in few digits; None as it is.

    Examples
    --------
    >>> write_number(0.1 + 0.2), write_number(None), write_number(2.0)
    ('0.3', 'None', '2')
    """
    return f"{x:.6g}" if isinstance(x, (int, float)) else str(x)


def write_headline(run: CaseRun) -> str:
    """Name the graph, the number returned and the right one: "x - x: you return 2, right is 0"."""
    asked = _write_graph(run)
    if not run.numbers:
        return f"{asked}: {_say_outcome(run)}"
    names = name_numbers(run)
    pairs = zip(names, run.found, run.right, strict=True)
    wrong = [(n, a, b) for n, a, b in pairs if write_number(a) != write_number(b)]
    if not wrong:
        return f"{asked}: right"
    name, yours, right = wrong[-1] if len(run.script) > 2 else wrong[0]
    yours = None if run.has_none and yours == 0 else yours
    return f"{asked}: you return {write_number(yours)} for {name}, right is {write_number(right)}"


def _write_graph(run: CaseRun) -> str:
    if run.case.length:
        return run.case.name
    text = str(run.case.graph)
    return text if len(text) < 160 else f"{text[:70]} ... {text[-70:]}"


def _say_outcome(run: CaseRun) -> str:
    if "budget" in run.result:
        return f"stopped after {run.case.budget} operations"
    if "error" in run.result:
        return f"{run.result['error']}: {run.result['message']}"
    return "no answer in time" if "timeout" in run.result else "the process ended"


def name_numbers(run: CaseRun) -> list[str]:
    """Name the numbers of a run as the chain rule writes them."""
    names = ["the value"]
    count = 0
    for action, *rest in run.script:
        if action not in ("forward", "reverse"):
            continue
        count += 1
        sweep = f" (sweep {count})" if len([a for a in run.script if a[0] == action]) > 1 else ""
        output = run.case.graph.output
        if action == "reverse":
            names += [f"∂{rest[0]}/∂{name}{sweep}" for name in run.case.graph.names]
        else:
            names.append(f"∂{output}/∂{rest[0]}{sweep}")
    return names


def table_rows(run: CaseRun) -> list[tuple[str, str, str, str, bool]]:
    """Return name, step, our number, theirs, and whether they differ, for the last wrong sweep."""
    if not run.numbers or run.case.length:
        return []
    _, rights = answer(run.case.graph, run.script)
    sweeps = list(zip(rights, run.result["sweeps"], strict=True))

    def differ(ours: dict[str, float], theirs: dict[str, Any]) -> bool:
        return any(write_number(theirs[name]) != write_number(ours[name]) for name in theirs)

    ours, theirs = next((pair for pair in sweeps if differ(*pair)), sweeps[-1])
    steps: list[tuple[str, str]] = [(n, f"{v}") for n, v in run.case.graph.inputs]
    steps += [(name, write_step(op, args)) for name, op, args in run.case.graph.steps]
    rows = []
    for name, text in steps if run.mode == "forward" else steps[::-1]:
        mine, yours = write_number(ours[name]), write_number(theirs.get(name, "-"))
        wrong = name in theirs and mine != yours
        rows.append((name, text, mine, yours, wrong))
    return rows


def write_table(run: CaseRun) -> str:
    """Write the sweep with our numbers beside theirs; lines that differ are marked."""
    rows = table_rows(run)
    if not rows:
        return ""
    sweep = next(action for action in reversed(run.script) if action[0] in ("forward", "reverse"))
    head = f"∂{sweep[1]}/∂·" if run.mode == "reverse" else f"∂·/∂{sweep[1]}"
    listed = [("", "", f"{head}", "yours", False), *rows]
    widths = [max(len(str(row[k])) for row in listed) for k in range(4)]
    lines = [
        f"{name:>{widths[0]}} {'=' if text else ' '} {text:{widths[1]}}  {mine:>{widths[2]}}  "
        f"{yours:>{widths[3]}}{'  <--' if wrong else ''}".rstrip()
        for name, text, mine, yours, wrong in listed
    ]
    return "\n".join(lines)


def draw(graph: Graph, format: str = "text") -> str:
    """Draw a graph, as text or SVG; nothing where there is nothing to draw.

    Examples
    --------
    >>> from simpleautodiff.learn.graphs import parse_graph
    >>> print(draw(parse_graph("y = x - x", x=3)))
    ┌───┐    ┌────┐
    │ x ├─┬─▶│ v1 ├───▶ y = f(x)
    └───┘ └─▶│    │
             └────┘
    """
    if not graph.steps or "constant" in graph.operations or len(graph.steps) > MOST_STEPS_DRAWN:
        return ""
    *before, last = graph.steps
    if last[0] != graph.output:
        return ""
    calls = {"max": "maximum"}
    lines = [f"{n} = {write_step(calls.get(op, op), args)}" for n, op, args in before]
    lines.append(write_step(calls.get(last[1], last[1]), last[2]))
    formula, names = parse("\n".join(lines))
    values = dict(graph.inputs)
    traced = trace_formula(formula, *(float(values[name]) for name in names))
    drawn = figure(traced, "plain", names="both")
    return drawn.svg() if format == "svg" else str(drawn)


def draw_run(run: CaseRun, format: str = "text") -> str:
    """Draw the graph of a run, unless it is a long chain."""
    return "" if run.case.length else draw(run.case.graph, format)


def _paragraphs(finding: Finding) -> list[str]:
    """Return the words about one finding."""
    unsure = not finding.certain and finding.mistake.name != "unknown"
    says = f"Probably: {finding.mistake.says}" if unsure else finding.mistake.says
    lines = [write_headline(finding.run)] if finding.run else [finding.detail]
    same = [f"The same numbers would come from: {', '.join(finding.others)}."]
    return [*lines, says, *(same if finding.others else [])]


def write_text(report: Report) -> str:
    """Write the diagnosis for a terminal."""
    right = sum(report.cases.values())
    task = f", task {report.task}" if report.task else ""
    lines = [
        f"{report.name}: an engine in the shape {report.abilities['shape']!r}{task}; "
        f"{right} of {len(report.cases)} graphs are right"
    ]
    for number, finding in enumerate(report.findings, 1):
        lines += ["", f"{number}. {write_title(finding)}"]
        for paragraph in _paragraphs(finding):
            lines.append(
                textwrap.fill(paragraph, 96, initial_indent="   ", subsequent_indent="   ")
            )
        if finding.run is not None:
            for block in (write_table(finding.run), draw_run(finding.run)):
                lines += ["", textwrap.indent(block, "   ")] if block else []
        lines += ["", f"   Read {finding.mistake.read}"]
    if report.unexplained:
        lines += ["", *textwrap.wrap(write_rest(report), 96)]
        table = write_table(report.unexplained[0])
        lines += ["", textwrap.indent(table, "   ")] if table else []
    lines += ["", *textwrap.wrap(write_end(report), 96)] if write_end(report) else []
    return "\n".join(lines)


def write_title(finding: Finding) -> str:
    """Write the title of a finding, and whether it is only a limit."""
    return f"{finding.mistake.name}{' (a limit)' if finding.mistake.kind == LIMIT else ''}"


def write_rest(report: Report) -> str:
    """Say how many failing graphs the findings do not explain, and which is the smallest."""
    count = len({run.case.name for run in report.unexplained})
    fails = "graph fails" if count == 1 else "graphs fail"
    return (
        f"{count} {fails} in a way that this does not explain; mend what is named, and grade "
        f"again. The smallest is {write_headline(report.unexplained[0])}."
    )


def write_end(report: Report) -> str:
    """Say whether anything is wrong, and which cases were beyond the engine's abilities."""
    if report.wrong:
        return ""
    known = {*report.abilities["operations"], "constant"}
    lacks = sorted({op for case in report.skipped for op in case.graph.operations} - known)
    count = len(report.skipped)
    because = f": it has no {', '.join(lacks)}" if lacks else ""
    left_out = f" {count} {'graph was' if count == 1 else 'graphs were'} not asked{because}."
    passed = "It passes: a limit is no mistake." if report.findings else "Nothing is wrong."
    return f"{passed}{left_out if count else ''}"


def to_dict(report: Report) -> dict[str, Any]:
    """Return a report as plain data."""
    findings = [
        {
            "mistake": finding.mistake.name,
            "kind": finding.mistake.kind,
            "certain": finding.certain,
            "says": finding.mistake.says,
            "others": list(finding.others),
            "read": finding.mistake.read,
            "graph": str(finding.run.case.graph) if finding.run else "",
            "headline": _paragraphs(finding)[0],
            "cases": sorted(finding.cases),
            "rows": table_rows(finding.run) if finding.run else [],
        }
        for finding in report.findings
    ]
    return {
        "engine": report.name,
        "shape": report.abilities["shape"],
        "task": report.task,
        "ok": report.ok,
        "graphs": len(report.cases),
        "right": sum(report.cases.values()),
        "skipped": [case.name for case in report.skipped],
        "mistakes": list(report.mistakes),
        "findings": findings,
        "unexplained": list(dict.fromkeys(run.case.name for run in report.unexplained)),
        "cases": report.cases,
    }


def write_json(report: Report) -> str:
    """Write the report as JSON."""
    return json.dumps(to_dict(report), indent=2, ensure_ascii=False)


def write_junit(report: Report) -> str:
    """Write the report as JUnit's XML: a test for each graph, with the diagnosis of failures."""
    failing = [name for name, ok in report.cases.items() if not ok]
    suite = ElementTree.Element(
        "testsuite",
        name=f"simpleautodiff grade {report.name}",
        tests=str(len(report.cases)),
        failures=str(len(failing)),
    )
    for name, ok in report.cases.items():
        run = next(run for run in report.runs if run.case.name == name and (ok or not run.ok))
        test = ElementTree.SubElement(suite, "testcase", classname=run.case.task, name=name)
        if not ok:
            failure = ElementTree.SubElement(test, "failure", message=write_headline(run))
            says = [finding.mistake.says for finding in report.findings if name in finding.cases]
            failure.text = "\n".join([*says, write_table(run)])
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def write_html(report: Report) -> str:
    """Write the report as one page that needs nothing else."""
    right = sum(report.cases.values())
    parts = [f"<p>{right} of {len(report.cases)} graphs are right.</p>"]
    for finding in report.findings:
        parts.append(f"<h2>{html.escape(write_title(finding))}</h2>")
        parts += [f"<p>{_html_text(text)}</p>" for text in _paragraphs(finding)]
        if finding.run is not None:
            parts.append(_html_table(finding.run))
            parts.append(draw_run(finding.run, "svg"))
        parts.append(f"<p>Read {_html_text(finding.mistake.read)}</p>")
    if report.unexplained:
        parts.append(f"<p>{html.escape(write_rest(report))}</p>")
        parts.append(_html_table(report.unexplained[0]))
    parts.append(f"<p>{html.escape(write_end(report))}</p>")
    return write_page(report.name, "\n".join(parts))


def _html_text(text: str) -> str:
    """Write a sentence; what stands in backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _html_table(run: CaseRun) -> str:
    rows = table_rows(run)
    if not rows:
        return ""
    body = "".join(
        f"<tr{' class=wrong' if wrong else ''}>"
        + "".join(f"<td>{html.escape(text)}</td>" for text in (name, step, mine, yours))
        + "</tr>"
        for name, step, mine, yours, wrong in rows
    )
    heads = "".join(f"<th>{head}</th>" for head in ("", "", "right", "yours"))
    return f"<table class=numbers><tr>{heads}</tr>{body}</table>"
