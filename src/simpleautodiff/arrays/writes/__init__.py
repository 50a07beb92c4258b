"""Arrays that are written to, with NumPy's semantics of views."""
