"""What is known before a program runs: constants, and the values that decide shapes."""
