"""Rows of numbers, which serve each element of an array."""
