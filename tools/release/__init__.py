"""Release the distributions: build them, look through the archives, install them and run what they promise."""
