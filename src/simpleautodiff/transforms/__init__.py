"""Functions to functions: `grad`, `jvp`, `vjp`, `jacobian`, `hessian`, `vmap`, `checkpoint`, ..."""
