"""Long programs that repeat: each body is compiled once, and called as often as it occurs."""
