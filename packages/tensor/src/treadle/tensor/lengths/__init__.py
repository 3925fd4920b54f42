"""Arithmetic on lengths and bounds, some known when the graph is built and some not."""
