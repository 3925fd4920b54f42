"""From expressions to a callable: what a function is made of, how it is made and how it is called."""
