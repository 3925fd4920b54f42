"""What guards, chooses or marks a value: assertions, `ifelse`, assumptions, what gradients do at a place."""
