"""Figures of graphs."""
