"""Programs as source code to take away: C, and Python with NumPy."""
