"""Programs as Python code: on floats, to run here, and on NumPy arrays, to export."""
