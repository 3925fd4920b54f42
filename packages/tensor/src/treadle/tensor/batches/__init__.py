"""Batch dimensions: how ops and graphs are applied along leading dimensions."""
