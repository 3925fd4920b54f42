"""Graphs that keep the users of each variable, changeable and frozen ones, and the features that observe them."""
