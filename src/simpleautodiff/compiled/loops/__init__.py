"""A loop is recorded by one step of it, and stays a loop: on symbols, tapes, jets and batches."""
