"""Algorithms on graphs: walks, orders, copies, comparisons, pickling."""
