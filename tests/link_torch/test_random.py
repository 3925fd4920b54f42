"""Random variables on PyTorch: the portable draws, and keys from NumPy's generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import treadle.tensor as tt
import treadle.tensor.random as tr
from tests.link_torch.programs import link, reference
from tests.tensor.random.portable_samples import assert_same_draws, portable_samples
from treadle.compile import function
from treadle.config import config
from treadle.tensor.random.generators import portable_keys

if TYPE_CHECKING:
    import pytest


def test_every_sampler_draws_what_the_definition_says() -> None:
    samples = portable_samples()
    program = link(samples.inputs, samples.outputs)
    for length in (40, 0):
        values = [samples.values[0], np.array(length)]
        assert_same_draws(samples, program(*values), reference(samples.inputs, samples.outputs, values))


def test_a_compiled_loop_of_attempts_draws_the_same() -> None:
    samples = portable_samples(["integers"])
    drawn = link(samples.inputs, samples.outputs, compiled=True)(*samples.values)
    assert_same_draws(samples, drawn, reference(samples.inputs, samples.outputs, samples.values))


def test_numpys_generators_give_keys_and_move_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable_keys.NOTICE, "given", True)
    x = tt.dvector("x")
    shared = tr.shared_rng(seed=3)
    rng, first = tr.normal(x, 1.0, rng=shared, return_next_rng=True)
    rng, second = tr.gamma(2.0, scale=tt.exp(first), rng=rng, return_next_rng=True)
    with config.change_flags(torch__compile=False):
        compute = function([x], [first, second], updates={shared: rng}, mode="PYTORCH")
    own = shared.get_value()
    wanted = []
    for _ in range(2):
        key, stream = (int(own.integers(0, 2**64, dtype="uint64")) for _ in range(2))
        wanted.append(np.array([key, stream % 2**32, 0], "uint64").view("int64"))
    drawn, scaled = compute(np.array([0.5, 1.5]))
    np.testing.assert_allclose(drawn, tr.PortableGenerator.from_state(wanted[0]).normal([0.5, 1.5], 1.0), 1e-13)
    np.testing.assert_allclose(scaled, tr.PortableGenerator.from_state(wanted[1]).gamma(2.0, np.exp(drawn)), 1e-12)
    assert shared.get_value().bit_generator.state == own.bit_generator.state
