"""Rules for special functions."""
