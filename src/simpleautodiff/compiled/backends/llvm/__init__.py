"""Programs in LLVM's language: scalar, batched and on arrays, with mathematics of our own."""
