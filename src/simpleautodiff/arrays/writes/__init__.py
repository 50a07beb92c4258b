"""Arrays that are written to, with NumPy's views and aliases."""
