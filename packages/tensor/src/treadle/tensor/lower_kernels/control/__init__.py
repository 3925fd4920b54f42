"""Rules of copies and assertions, a module for each family."""
