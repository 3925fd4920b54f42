"""Where nodes were built, and the errors of nodes that fail."""
