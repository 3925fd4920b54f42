"""Random variables on JAX: the portable draws, keys from NumPy's generators, and what is compiled when."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
import treadle.tensor.random as tr
from tests.link_jax.programs import link
from tests.tensor.random.portable_samples import assert_same_draws, portable_samples
from treadle.compile import function
from treadle.graph import FunctionGraph
from treadle.link.jax.linker import JAXLinker
from treadle.link.vm import Program, PythonLinker
from treadle.tensor.random.generators import portable_keys
from treadle.tensor.random.lower.jax.philox import Stream


def keyed(rng: np.random.Generator) -> tr.PortableGenerator:
    """Return the portable generator that a draw takes from one of NumPy's, which moves on."""
    key, stream = (int(rng.integers(0, 2**64, dtype="uint64")) for _ in range(2))
    return tr.PortableGenerator.from_state(np.array([key, stream % 2**32, 0], "uint64").view("int64"))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark the notice as given."""
    monkeypatch.setattr(portable_keys.NOTICE, "given", True)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[FunctionGraph]:
    """Return a list of the graphs that are compiled from now on."""
    graphs: list[FunctionGraph] = []
    link_whole = JAXLinker.link_whole

    def noted(self: JAXLinker, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        graphs.append(fgraph)
        return link_whole(self, fgraph, native_outputs)

    monkeypatch.setattr(JAXLinker, "link_whole", noted)
    return graphs


@pytest.mark.filterwarnings("ignore:jax. a shape in PortableDraws:Warning")
def test_every_sampler_draws_what_the_definition_says_and_calls_nothing_back() -> None:
    samples = portable_samples()
    program = link(samples.inputs, samples.outputs)
    reference = PythonLinker().link(FunctionGraph(samples.inputs, samples.outputs))
    for length in (40, 0):
        values = [samples.values[0], np.array(length)]
        assert_same_draws(samples, program(*values), reference(*values))
    assert "callback" not in str(program.jaxpr(*samples.values))


@pytest.mark.usefixtures("told")
def test_draws_from_a_chain_of_numpys_generators_are_one_program(programs: list[FunctionGraph]) -> None:
    x = tt.dvector("x")
    shared = tr.shared_rng(np.random.Generator(np.random.MT19937(4)))
    rng, first = tr.normal(x, 2.0, rng=shared, return_next_rng=True)
    rng, second = tr.poisson(tt.exp(first), rng=rng, return_next_rng=True)
    own = shared.get_value()
    compute = function([x], [first, second, 2 * x], updates={shared: rng}, mode="JAX")
    assert len(programs) == 1
    for _ in range(2):
        drawn, counts, _ = compute(np.array([1.0, 2.0]))
        np.testing.assert_allclose(drawn, keyed(own).normal([1.0, 2.0], 2.0), 1e-13)
        np.testing.assert_array_equal(counts, keyed(own).poisson(np.exp(drawn)))
    assert repr(shared.get_value().bit_generator.state) == repr(own.bit_generator.state)


@pytest.mark.usefixtures("told")
def test_a_generator_shared_by_functions_of_two_backends_repeats_nothing() -> None:
    shared = tr.shared_rng(seed=1)
    rng, drawn = tr.normal(size=(5,), rng=shared, return_next_rng=True)
    here, there = (function([], drawn, updates={shared: rng}, mode=mode) for mode in ("JAX", "VM"))
    assert np.unique([here(), there(), here(), there()]).size == 20


@pytest.mark.usefixtures("told")
def test_generators_are_inputs_and_outputs_and_chosen_by_conditions() -> None:
    flag, one, other = tt.bscalar("flag"), tr.rng("one"), tr.rng("other")
    after, drawn = tr.uniform(size=(3,), rng=tt.ifelse(flag, one, other), return_next_rng=True)
    compute = function([flag, one, other], [drawn, after], mode="JAX")
    generators = [np.random.default_rng(2), np.random.Generator(np.random.SFC64(3))]
    before = copy.deepcopy(generators)
    for taken, value in enumerate([1, 0]):
        draws, left = compute(value, *generators)
        own = copy.deepcopy(generators[taken])
        np.testing.assert_array_equal(draws, keyed(own).random(3))
        assert repr(left.bit_generator.state) == repr(own.bit_generator.state)
    assert [repr(g.bit_generator.state) for g in generators] == [repr(g.bit_generator.state) for g in before]


def test_calls_compile_once_whatever_the_generators_state(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[Any] = []
    start = Stream.__init__

    def noted(self: Stream, state: Any) -> None:
        traced.append(state)
        start(self, state)

    monkeypatch.setattr(Stream, "__init__", noted)
    shared = tr.shared_rng(tr.PortableGenerator(2))
    rng, drawn = tr.exponential(size=(4,), rng=shared, return_next_rng=True)
    compute = function([], drawn, updates={shared: rng}, mode="JAX")
    assert np.unique([compute() for _ in range(3)]).size == 12
    assert len(traced) == 1


def test_the_stream_in_use_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable_keys.NOTICE, "given", False)
    stream = tr.RandomStream(5)
    with pytest.warns(tr.RandomStreamWarning, match=r'jax: .*RandomStream\(seed, generator="portable"\)'):
        function([], stream.normal(size=(2,)), mode="JAX")
    function([], stream.normal(size=(3,)), mode="JAX")
