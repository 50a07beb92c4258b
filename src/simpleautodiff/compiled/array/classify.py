"""How a line of an array program can be computed: the schedule chooses one of these for each."""

from __future__ import annotations

INPUT = "input"  # an argument
VIEW = "view"  # not computed: its elements are those of another result
ELEMENTWISE = "element"  # in a loop, element by element
REDUCE = "reduce"  # in a loop over its argument, folded along some axes
GATHER = "gather"  # in a loop that loads the elements which an index chooses
LAYERS = "layers"  # in a loop that loads pieces of other results, each in its own box
ASSEMBLE = "assemble"  # by loops of its own, which put pieces into its memory
SCATTER = "scatter"  # by loops of its own, which put elements where an index says
MATMUL = "matmul"  # by BLAS
LAPACK = "lapack"  # by LAPACK
NUMPY = "numpy"  # by NumPy, between two segments of machine code

IN_LOOPS = frozenset((ELEMENTWISE, GATHER, LAYERS, REDUCE))
LOADED = (GATHER, LAYERS)  # elements that are only loaded
