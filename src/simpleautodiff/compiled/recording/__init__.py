"""A function becomes a program: it runs once on symbols."""
