"""Programs that are kept: the key of one, all that it depends on, and the form in which it is stored."""
