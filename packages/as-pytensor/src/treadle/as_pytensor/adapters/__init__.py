"""Objects under PyTensor's names that treadle's own do not answer for: PyTensor's conventions, on treadle's objects.

`table` says which name stands for which of them.
"""
