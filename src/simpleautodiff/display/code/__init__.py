"""A derivative as Python source."""
