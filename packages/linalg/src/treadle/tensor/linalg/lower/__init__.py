"""Lowerings of the ops of linear algebra for each backend; a folder is imported when its backend is used."""
