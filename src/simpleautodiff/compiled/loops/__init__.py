"""Record a loop by one of its steps, so that it stays one on symbols, tapes, jets and batches."""
