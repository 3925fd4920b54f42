"""Rules for linear algebra: systems, inverses, determinants and decompositions by the structure of their matrices.

They stand above the ops, and import what rules share from `treadle.tensor.rewrites`. Entry points load them:
`of_tensors`, which is about ops of `treadle.tensor`, for every graph, and `of_ops` once an op of linear algebra is
imported.
"""
