"""Shapes: lengths as values, broadcasting, axes put in another order."""
