"""Graphs that know who uses what: one that can be changed, one that cannot, and the features that observe them."""
