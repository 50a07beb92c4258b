"""Transformations of functions: `grad`, `jvp`, `vjp`, `jacobian`, `hessian`, `vmap`, ..."""
