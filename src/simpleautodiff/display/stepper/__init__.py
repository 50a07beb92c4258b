"""A sweep, step by step."""
