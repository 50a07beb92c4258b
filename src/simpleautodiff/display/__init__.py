"""What can be seen of a derivative: tables, figures, steps, pages; all of it from a `Program`."""
