"""What generators have as methods: each written once, for arrays and in graphs."""
