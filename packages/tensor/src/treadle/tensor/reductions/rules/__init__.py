"""Rules for reductions: those that find softmax, log_softmax and logsumexp in formulas and simplify them, and others."""
