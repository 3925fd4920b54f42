"""Whole derivatives, as users ask for them: Jacobians, Hessians, functions with derivatives of their own."""
