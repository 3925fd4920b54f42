"""Ops on values of any type: copies and views, conditionals, printing."""
