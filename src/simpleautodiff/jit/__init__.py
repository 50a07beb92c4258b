"""Compiled: a function and its derivatives as machine code, from what the engine records."""
