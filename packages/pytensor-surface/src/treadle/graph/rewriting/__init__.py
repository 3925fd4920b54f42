"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""
