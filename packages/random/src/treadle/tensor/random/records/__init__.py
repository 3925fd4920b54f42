"""What each distribution is checked by, on every backend; each module is published by itself."""
