"""Scalar programs in LLVM's language: for one call, for many rows, with mathematics of our own."""
