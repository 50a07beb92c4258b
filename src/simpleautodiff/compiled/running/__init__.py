"""Programs that run: a recorded program on one tier after another."""
