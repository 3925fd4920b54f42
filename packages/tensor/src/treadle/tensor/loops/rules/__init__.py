"""Rules for loops."""
