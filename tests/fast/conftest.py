"""The tests of the fast engine are collected only where it is installed."""

import simpleautodiff as ad
from simpleautodiff.core.engine import engine

assert ad.grad  # the engine is installed with the first name that is used
collect_ignore_glob = [] if engine.new_tape else ["test_*.py"]
