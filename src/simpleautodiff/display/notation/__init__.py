"""Formulas, sentences and names."""
