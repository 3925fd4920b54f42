"""Generators: their types, states and streams, and what draws with their bits."""
