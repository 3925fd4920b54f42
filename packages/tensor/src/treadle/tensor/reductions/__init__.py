"""Reductions over axes, and what is built on them: moments, cumulative functions, softmax."""
