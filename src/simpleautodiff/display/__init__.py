"""What is shown of a program: tables, words, formulas, figures, steps; all from one trace."""
