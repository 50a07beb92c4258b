"""Layout of figures: layers, crossings, heights."""
