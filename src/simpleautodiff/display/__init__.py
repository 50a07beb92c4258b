"""What is shown: tables, figures, words; all of it drawn from a program."""
