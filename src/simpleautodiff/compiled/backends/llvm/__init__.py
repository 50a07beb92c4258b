"""Scalar programs in LLVM's language: for one call, for a batch, with mathematics of our own."""
