"""Rules for assertions, assumptions, choices and what gradients do at a place."""
