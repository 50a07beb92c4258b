"""The interpreter: bytecode, and the loop that runs it, which starts without compiling."""
