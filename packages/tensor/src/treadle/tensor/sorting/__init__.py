"""Sorting, order statistics, counting by bins, sets."""
