"""Derivatives as Python source."""
