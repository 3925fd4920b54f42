"""Skeletons of what is added to treadle: a module for each kind."""
