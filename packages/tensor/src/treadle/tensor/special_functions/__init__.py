"""Special functions of each element, by families, and what their derivatives are computed with."""
