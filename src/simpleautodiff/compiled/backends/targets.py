"""The targets that programs run on: the only place that names them."""

from __future__ import annotations

from simpleautodiff.compiled.backends.interface import ScalarRunner, Target
from simpleautodiff.compiled.backends.interpreter.machine import InterpretedProgram, is_ready
from simpleautodiff.compiled.backends.llvm.target import LLVMTarget
from simpleautodiff.compiled.backends.python.float_code import PythonProgram

TARGET: Target = LLVMTarget()
INTERPRETER: type[ScalarRunner] = InterpretedProgram  # starts at once, when it is compiled itself
FALLBACK: type[ScalarRunner] = PythonProgram  # needs no compiler

interpreter_is_ready = is_ready
