"""The conventions of programs and the runtime: C types, names, status codes, the layout of arguments."""
