"""Rules about ops of every family: constant folding, lifting of views, fusion, in-place work."""
