"""What ops of named tensors are built of: their base, those of each element or along dimensions. Imports `types`."""
