"""Rules for joins and splits."""
