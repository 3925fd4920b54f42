"""Symbolic shapes: the lengths of results in terms of those of what they are computed from, before any is known."""
