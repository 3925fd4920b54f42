"""What the text of programs and the runtime agree on: C types, names, status codes, the layout of arguments."""
