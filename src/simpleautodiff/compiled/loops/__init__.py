"""Record a loop by one of its steps, so that it stays one on symbols, tapes, jets and batches.

The loop ends as one line of the recorded program; its machine code is made in `rolled`.
"""
