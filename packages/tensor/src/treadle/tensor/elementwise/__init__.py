"""Functions of each element: scalar ops, the op that applies them, and the functions of arithmetic, by families."""
