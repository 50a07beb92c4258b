"""The benchmarks are scripts beside each other: their folder is put on the path, as the last."""

import sys
from pathlib import Path

import pytest

FOLDER = str(Path(__file__).resolve().parents[2] / "benchmarks")
if FOLDER not in sys.path:
    sys.path.append(FOLDER)


@pytest.fixture(scope="session")
def benchmarks_folder():
    return Path(FOLDER)
