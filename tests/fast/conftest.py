"""The tests of the fast engine are collected only where it is installed."""

import simpleautodiff  # noqa: F401 - which chooses the engine
from simpleautodiff.core.engine import engine

collect_ignore_glob = [] if engine.wrap else ["test_*.py"]
