"""Linear algebra in compiled programs, by BLAS and LAPACK."""
