"""From LLVM's text to something that Python calls: compiled, kept on disk, entered."""
