"""Tables of values, tangents and adjoints."""
