"""Records of functions that only combine ops, by subject; the ops have records in their families."""
