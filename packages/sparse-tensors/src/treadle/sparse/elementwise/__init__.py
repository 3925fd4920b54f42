"""Functions of each element: of one matrix, of two, and comparisons. Imports `selection` and the rooms below it."""
