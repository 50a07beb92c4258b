"""Large programs in few boxes: calls, source lines and loops that can be unfolded."""
