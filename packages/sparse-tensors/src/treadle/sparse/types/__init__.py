"""The type of sparse matrices, its variables, and how values become them. It imports none of the other rooms."""
