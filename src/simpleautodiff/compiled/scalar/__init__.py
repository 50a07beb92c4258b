"""Programs on single numbers: the flat program, its operations, and how rows become them."""
