"""The distributions, by what they are about."""
