"""What a program is turned into: LLVM, an interpreter, Python, C."""
