"""GeneratorDraws in Python: the numbers of NumPy's methods and the state after them, bit for bit."""

from __future__ import annotations

import pytest

from tests.tensor.random.generator_cases import KINDS, Chain, all_draws
from treadle.graph import FunctionGraph
from treadle.link.vm import PythonLinker
from treadle.tensor import CompiledSamplerError, sampler_address


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_those_of_numpys_methods(kind: str) -> None:
    chain = Chain(all_draws())
    chain.compare(PythonLinker().link(FunctionGraph(chain.inputs, chain.outputs)), kind)


def test_a_missing_sampler_is_an_error_that_names_it() -> None:
    with pytest.raises(CompiledSamplerError, match="exports no C function random_nothing"):
        sampler_address("random_nothing")
