"""Rules over reads and writes of parts of tensors."""
