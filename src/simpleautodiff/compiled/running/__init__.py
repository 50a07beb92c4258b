"""Programs that run: what a recorded function is called through, tier by tier."""
