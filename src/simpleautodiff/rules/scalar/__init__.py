"""Rows of scalar functions, which apply to each element of an array."""
