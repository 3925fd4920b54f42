"""`scan` and the functions like it, as users call them."""
