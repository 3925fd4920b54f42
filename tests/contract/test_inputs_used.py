"""For every record: inputs of an expression, of a function of it and of its gradient are the same."""

from __future__ import annotations

import pytest

import treadle.tensor as tt
from treadle.compile.functions.specification import specify
from treadle.graph import GraphError, origins
from treadle.tensor import DtypeError
from treadle.testing import SAMPLES, Sample
from treadle.testing.parts import as_tuple, variables


def check(sample: Sample) -> None:
    dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[0]
    inputs = variables(sample, dtype, known=False)
    outputs = [out for out in as_tuple(sample.build(*inputs)) if out.type.numpy_dtype.kind == "f"]
    if not outputs:
        return
    cost = tt.add(*(out.sum() for out in outputs)) if len(outputs) > 1 else outputs[0].sum()
    written_with = set(origins([cost]))
    inputs = [x for x in inputs if x in written_with]
    assert specify(inputs, cost, on_unused_input="raise").inputs
    for x in inputs:
        if x.type.numpy_dtype.kind == "f":
            try:
                slope = tt.grad(cost, x, disconnected_inputs="ignore")
            except (GraphError, DtypeError, NotImplementedError):
                continue
            assert specify(inputs, slope, on_unused_input="raise").inputs


@pytest.mark.parametrize("family", SAMPLES.families())
def test_inputs_of_every_expression_are_those_of_its_gradient(family: str) -> None:
    for sample in SAMPLES.of(family):
        check(sample)
