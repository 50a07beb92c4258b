"""Rows that act on whole arrays."""
