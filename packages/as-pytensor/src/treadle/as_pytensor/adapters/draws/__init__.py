"""Draws as PyTensor makes them: other numbers from one generator, and tensors with named dimensions."""
