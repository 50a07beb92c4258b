"""Time and weigh this library against others. See README.md in this folder."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from dataclasses import asdict
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from field import Field
from measure import deeply, one_thread
from report import Section, digits

# Modules with KINDS, FULL, QUICK and SECTIONS.
PARTS = {
    **{name: name for name in ("engine", "arrays", "compiled", "display", "pieces")},
    **{name: f"{name}.table" for name in ("gradbench", "programs")},
}


def environment(field: Field) -> dict[str, Any]:
    """Describe the machine and the versions."""
    versions = {}
    for kind in field.kinds:
        if kind in field.absent:
            versions[kind.package] = field.absent[kind]
        else:
            try:
                versions[kind.package] = kind.version()
            except metadata.PackageNotFoundError:
                versions[kind.package] = "not installed, on the path"
    return {
        "machine": f"{os.cpu_count()}-core {processor()}",
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions,
    }


def processor() -> str:
    """Return the name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def summary(sections: list[Section]) -> str:
    """Count the targets met, and name those missed."""
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    missed = [verdict for verdict in verdicts if not verdict.met]
    lines = [f"{verdict}  {verdict.case}: {digits(verdict.number)}" for verdict in missed]
    return "\n".join([f"Targets: {len(verdicts) - len(missed)} met, {len(missed)} missed.", *lines])


def benchmark(names: list[str], quick: bool, json_file: Path | None) -> None:
    """Measure what was asked for; print each section as it is done."""
    begin = time.perf_counter()
    parts: list[Any] = [import_module(PARTS[name]) for name in names]
    field = Field(kind for part in parts for kind in part.KINDS)
    about = environment(field)
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    print(f"Python {about['python']} on {about['system']}, {about['machine']}")
    print(f"{versions}\n")
    sections = []
    for part in parts:
        for make in part.SECTIONS:
            section = make(field, part.QUICK if quick else part.FULL)
            sections.append(section)
            print(section, flush=True)
    print(summary(sections))
    print(f"({time.perf_counter() - begin:.0f} s)")
    if json_file:
        write(json_file, about, sections)


def write(json_file: Path, about: dict[str, Any], sections: list[Section]) -> None:
    """Write the numbers for programs."""
    results = [
        {
            "title": section.title,
            "data": section.data,
            "verdicts": [asdict(verdict) for verdict in section.verdicts],
        }
        for section in sections
    ]
    json_file.write_text(json.dumps({**about, "sections": results}, indent=2) + "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if none")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers here")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    one_thread()
    names = [part for part in PARTS if part in (options.parts or PARTS)]
    deeply(lambda: benchmark(names, options.quick, options.json))


if __name__ == "__main__":
    main()
