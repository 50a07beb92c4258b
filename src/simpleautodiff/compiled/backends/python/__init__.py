"""Programs as Python code: of floats, to run here, and of NumPy, to export."""
