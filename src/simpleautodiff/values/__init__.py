"""What the value of a node may be: any number, any array, and nested structures of them."""
