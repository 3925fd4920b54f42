"""Rules for linear algebra: systems, inverses, determinants and decompositions by the structure of their matrices."""
