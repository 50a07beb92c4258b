"""Scalar programs without compiling them: on the interpreter, or as Python."""
