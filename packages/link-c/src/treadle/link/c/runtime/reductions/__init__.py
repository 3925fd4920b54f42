"""C functions that go along axes: reductions, cumulative functions, softmax."""
