"""Rules that find softmax, log_softmax and logsumexp in formulas, and that simplify them."""
