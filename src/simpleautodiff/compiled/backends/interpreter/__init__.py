"""Scalar programs without compiling them: on the tape machine, or as Python."""
