"""Machine code in this process: compiled from LLVM's text, cached on disk, called by Python."""
