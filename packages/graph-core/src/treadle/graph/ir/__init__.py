"""What graphs are made of: types, variables, nodes and ops."""
