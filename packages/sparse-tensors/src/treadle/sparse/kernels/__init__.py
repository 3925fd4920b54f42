"""Ops on the three arrays of a compressed matrix, which are plain tensors: what every backend compiles.

A compressed matrix is stored line by line: CSR by rows, CSC by columns. Of each line, the stored elements (entries)
are next to each other in ``data``, and their positions across the lines in ``indices``; line i has the entries from
``indptr[i]`` to ``indptr[i + 1]``. The transpose of a CSR matrix is a CSC matrix of the same three arrays, so that ops
on lines are enough for both. Lines may hold a position twice, which then counts as the sum of both entries, and need
not be sorted.
"""
