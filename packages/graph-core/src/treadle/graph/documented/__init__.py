"""What the documentation offers to other tools beside the design of treadle's own, which does without it."""
