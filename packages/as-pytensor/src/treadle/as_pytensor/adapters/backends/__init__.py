"""How PyTensor says what ops are on its backends, and what it gives of compiled functions; loaded when asked for."""
