"""Where the boxes of a figure stand."""
