"""Names for users of HIPS autograd: `simpleautodiff.numpy`, `.scipy`, `.extend` and others."""
