"""The report of a compiled function on itself."""

from __future__ import annotations

from simpleautodiff.compiled.jit_function import JitFunction
from simpleautodiff.compiled.paths import Path, Specialization


def explanation(function: JitFunction, name: str) -> str:
    """Say, for every signature, what was recorded, guarded and compiled, and what runs it."""
    lines = [f"{name}: {_count(len(function.known), 'signature')}"]
    for number, found in enumerate(function.known.values(), 1):
        lines += [f"  {number}. {line}" if i == 0 else f"     {line}"
                  for i, line in enumerate(_of_signature(found))]  # fmt: skip
    for why, calls in function.not_compared.items():
        lines.append(
            f"  called {_count(calls, 'time')}, run as it is, because its arguments cannot be "
            f"compared with those of other calls: {why}"
        )
    return "\n".join(lines)


def _of_signature(found: Specialization) -> list[str]:
    called = f"called {_count(found.calls, 'time')}"
    if found.reason:
        return [f"{called}, run as it is, because it cannot be compiled: {found.reason}"]
    if found.root is None:
        return [f"{called}, run as it is; the next call records it"]
    paths = found.paths()
    lines = [f"{called} through Python, {_count(len(paths), 'path')} through the code"]
    for line, why in found.not_looped.items():
        lines.append(f"a loop is recorded step by step{line}: {why}")
    for number, path in enumerate(paths, 1):
        lines += [f"path {number}: {line}" if i == 0 else f"  {line}"
                  for i, line in enumerate(_of_path(path))]  # fmt: skip
    return lines


def _of_path(path: Path) -> list[str]:
    recorded = path.recorded
    rows = len(recorded.lines) - recorded.inputs
    lines = [f"tier {path.program.tier}; {_count(rows, 'row')} recorded"]
    lines += path.program.describe()
    lines += [f"a loop is recorded step by step: {why}" for why in dict.fromkeys(path.unrolled)]
    for k, guard in enumerate(recorded.guards):
        lines.append(f"guard: must be {guard.expected}{guard.line}")
        if k in path.as_is:
            lines.append(f"  else run as it is, because it cannot be compiled: {path.as_is[k]}")
    return lines


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
