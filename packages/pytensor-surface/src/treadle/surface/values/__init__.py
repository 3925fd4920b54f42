"""Documented kinds of values: scalars, vectors made of them, lists. It imports no other module of this package."""
