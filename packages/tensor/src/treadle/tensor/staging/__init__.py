"""Values known before a program runs: constants, and those that decide shapes."""
