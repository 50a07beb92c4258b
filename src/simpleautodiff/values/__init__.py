"""The values that nodes hold: numbers of any type, arrays, and nested structures of them."""
