"""Programs on single numbers: the scalar program, its operations, and how rows become them."""
