"""The table of all records."""

from __future__ import annotations

from treadle.testing.records import (
    arithmetic,
    broadcasting,
    cast,
    comparison,
    complex_numbers,
    conditional,
    dimshuffle,
    exponential,
    from_function,
    from_graph,
    fused_reduction,
    indexing,
    joining,
    logic,
    normalization,
    product,
    reduction,
    rounding,
    shape,
    trigonometric,
)
from treadle.testing.sample import SampleTable

SAMPLES = SampleTable(
    *arithmetic.SAMPLES,
    *cast.SAMPLES,
    *comparison.SAMPLES,
    *complex_numbers.SAMPLES,
    *exponential.SAMPLES,
    *logic.SAMPLES,
    *rounding.SAMPLES,
    *trigonometric.SAMPLES,
    *broadcasting.SAMPLES,
    *conditional.SAMPLES,
    *dimshuffle.SAMPLES,
    *from_graph.SAMPLES,
    *fused_reduction.SAMPLES,
    *indexing.SAMPLES,
    *joining.SAMPLES,
    *normalization.SAMPLES,
    *product.SAMPLES,
    *reduction.SAMPLES,
    *shape.SAMPLES,
    *from_function.SAMPLES,
)
