"""Rules over elementwise functions, by subject."""
