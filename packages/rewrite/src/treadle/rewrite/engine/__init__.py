"""The engine: one run of rewriting over a graph, what takes part in it, and what it notes."""
