"""The commands of `treadle` that are more than a few lines."""
