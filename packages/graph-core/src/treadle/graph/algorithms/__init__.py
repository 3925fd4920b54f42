"""What is done with graphs that are given by their inputs and outputs: walks, copies, comparisons, pickles."""
