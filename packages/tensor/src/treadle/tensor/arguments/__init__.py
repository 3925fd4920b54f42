"""What every function does with its arguments: numbers, flags, axes, nested lists, signatures of gufuncs."""
