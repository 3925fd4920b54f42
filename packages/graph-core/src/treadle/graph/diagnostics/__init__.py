"""Where nodes come from, and what their errors tell of it."""
