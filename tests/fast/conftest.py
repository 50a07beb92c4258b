"""The tests of the fast engine are collected only where it is installed."""

from simpleautodiff.core.engine import engine

collect_ignore_glob = [] if engine.wrap else ["test_*.py"]
