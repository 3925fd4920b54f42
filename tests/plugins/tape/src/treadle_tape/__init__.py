"""A backend for treadle that interprets a tape of instructions on numbered registers."""
