"""A graph as a numbered list of steps: what is shown, checked and compiled."""
