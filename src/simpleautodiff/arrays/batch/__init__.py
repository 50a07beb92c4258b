"""Batches of examples: the level of `vmap`."""
