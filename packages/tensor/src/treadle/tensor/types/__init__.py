"""The types of tensors, and how values become variables of them."""
