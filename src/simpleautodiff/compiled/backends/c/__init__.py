"""Programs as C code."""
