"""The targets that programs run on: the only place that names them."""

from __future__ import annotations

from simpleautodiff.compiled.backends.interface import ScalarRunner, Target
from simpleautodiff.compiled.backends.interpreter.machine import Machine, is_ready
from simpleautodiff.compiled.backends.llvm.target import LLVMTarget
from simpleautodiff.compiled.backends.python.float_code import FloatCode

TARGET: Target = LLVMTarget()
INTERPRETER: type[ScalarRunner] = Machine  # starts at once, as soon as it was compiled itself
FALLBACK: type[ScalarRunner] = FloatCode  # needs nothing

interpreter_is_ready = is_ready
