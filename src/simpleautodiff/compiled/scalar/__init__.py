"""Scalar programs: the table of operations, and how primitives are lowered to them."""
