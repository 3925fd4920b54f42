"""Elements of sparse matrices chosen by index or left out by value. Imports `forms` and the rooms below it."""
