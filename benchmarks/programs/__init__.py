"""Whole programs, as people write them in NumPy. Nothing in them is there for a derivative.

Each module has the program `f`, which returns one number and is differentiated in its first
argument; `example`, which makes arguments of a size; `SIZES`, a small one and one that is timed;
and `in_jax`, which returns the same function as JAX wants it written.
"""
