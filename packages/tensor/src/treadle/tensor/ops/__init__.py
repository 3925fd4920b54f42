"""What ops of tensors are built of: their base, their fields, values that are known when they are built."""
