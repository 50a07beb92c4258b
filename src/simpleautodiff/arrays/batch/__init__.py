"""Many examples at once: the level of `vmap`."""
