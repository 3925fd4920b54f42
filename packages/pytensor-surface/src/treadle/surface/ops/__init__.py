"""Documented classes of ops: of scalar ops, of reductions, of casts. It imports no other module of this package."""
