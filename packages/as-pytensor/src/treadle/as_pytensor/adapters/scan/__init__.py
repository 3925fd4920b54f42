"""Loops as PyTensor has them: its Scan op and ScanArgs, as a view of treadle's loops and back."""
