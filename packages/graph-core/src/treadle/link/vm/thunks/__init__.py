"""The documented surface of linkers for other tools: thunks on storage cells, and what makes and runs them."""
