"""Graphs and functions of other libraries as ops."""
