"""The status that generated code returns: 0, or why it stopped, which the program turns into an error."""

from __future__ import annotations

OK, SHAPE, INDEX, VALUE, MEMORY, ASSERTION, MATRIX, INTERRUPT, TOO_LONG, PARAMETER = range(10)
# Returned to Python where arguments are not arrays of the inputs' types, or too few or many.
CHECK = -1
