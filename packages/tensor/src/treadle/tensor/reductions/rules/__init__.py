"""Rules for reductions, and those that find softmax, log_softmax and logsumexp in formulas and simplify them."""
