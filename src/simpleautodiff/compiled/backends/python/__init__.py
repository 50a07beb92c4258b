"""Programs as Python code."""
