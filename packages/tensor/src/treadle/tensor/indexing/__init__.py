"""Indexing: index expressions, reading and writing at them, masks, positions, ranges."""
