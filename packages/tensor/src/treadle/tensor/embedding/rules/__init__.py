"""Rules for graphs as ops."""
