"""Programs as LLVM text: scalar, batched and on arrays, with mathematical functions of our own."""
