"""What rules ask about a graph, such as symbolic shapes and signs, and what they build replacements with."""
