"""Functions that run on the Python VM while they are compiled in the background."""
