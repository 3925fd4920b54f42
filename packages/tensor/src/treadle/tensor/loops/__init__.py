"""Loops as one op: the op, its derivatives, its batches, and loops in their plain form."""
