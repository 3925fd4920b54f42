"""From a graph to a PyTorch program: how it is planned, unrolled, compiled, and keeps its storage."""
