"""Record a function as a program, by running it once on symbols."""
