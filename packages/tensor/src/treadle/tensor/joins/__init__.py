"""Tensors put together and cut apart along an axis."""
