"""Rules of views and lengths, a module for each family."""
