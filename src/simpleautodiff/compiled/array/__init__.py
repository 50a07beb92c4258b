"""Programs on large arrays: fused loops, BLAS, and NumPy for the rest."""
