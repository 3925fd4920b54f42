"""Samplers that others add to those of portable generators, by one definition for all backends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.compile.stored.code_text import member_texts
from treadle.config import config
from treadle.graph import DuplicateRegistrationError
from treadle.tensor import DrawLanes, PortableDraws
from treadle.tensor import random as tr
from treadle.tensor.random import PORTABLE_SAMPLERS, PortableGenerator, PortableSampler, RandomVariable
from treadle.tensor.random.generators.array_lanes import drawn_by
from treadle.tensor.random.generators.philox import State

BACKENDS = ["C", "NUMBA", *(pytest.param(name, marks=pytest.mark.slow) for name in ("JAX", "PYTORCH"))]


def heads(lanes: DrawLanes, p: Any) -> Any:
    """Return 1 with probability p, as a draw in thirds that is rejected above two of them."""
    limit = lanes.flat(p)

    def attempt(words: Sequence[Any]) -> tuple[Any, Any]:
        w0, w1, w2, w3 = words
        third = lanes.xp.floor(3.0 * lanes.unit(w2, w3))
        return lanes.xp.where(lanes.unit(w0, w1) < limit, 1.0, 0.0), third > 1.0

    return lanes.as_integer(lanes.attempts(attempt))


def tails(lanes: DrawLanes, p: Any) -> Any:
    return 1 - heads(lanes, p)


def dice(lanes: DrawLanes) -> Any:
    """Return integers from 1 to 6, without parameters or rejection."""
    w0, w1, _, _ = lanes.blocks(0)
    return lanes.as_integer(1.0 + lanes.xp.floor(6.0 * lanes.unit(w0, w1)))


@pytest.fixture
def added() -> Iterator[tuple[PortableSampler, PortableSampler]]:
    first = PORTABLE_SAMPLERS.add("heads", heads, parameters=("float64",), dtypes=("int64",))
    second = PORTABLE_SAMPLERS.add("dice", dice, dtypes=("int64", "float64"))
    yield first, second
    for name in ("heads", "dice"):
        del PORTABLE_SAMPLERS._samplers[name]


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.usefixtures("added")
def test_definition_alone_draws_the_same_on_every_backend(mode: str) -> None:
    state, n = tt.tensor("state", dtype="int64", shape=(3,)), tt.lscalar("n")
    p = tt.arange(n) / 500
    two = tt.constant(2, dtype="int64")
    draws = [
        PortableDraws("heads", "int64", 2)(state, two, n, p),
        PortableDraws("dice", "int64", 2)(state, n, two),
        PortableDraws("dice", "float64", 0)(state),
    ]
    with config.change_flags(torch__compile=False, on_python_step="raise"):
        compiled, wanted = (function([state, n], draws, mode=m) for m in (mode, "VM"))
    # JAX compiles for each length.
    for length, position in ((500, -2), (3, 2**32 - 2), (0, 1))[: 1 if mode == "JAX" else None]:
        given = np.array([-5, 77, position]), length
        for x, y in zip(wanted(*given), compiled(*given), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(y, x)


@pytest.mark.usefixtures("added")
def test_negative_lengths_are_refused_by_the_definition_in_a_graph() -> None:
    state, n = tt.tensor("state", dtype="int64", shape=(3,)), tt.lscalar("n")
    draw = function([state, n], PortableDraws("dice", "int64", 1)(state, n), mode="C")
    with pytest.raises(ValueError, match="negative dimensions"):
        draw(np.zeros(3, "int64"), -1)


def test_own_samplers_are_what_their_lanes_are_on_numpy() -> None:
    state, n = State(0x9E3779B97F4A7C15, 77, 2**32 - 500), 700
    given = {"binomial": (10**6, 0.2), "hypergeometric": (1000, 2000, 1500), "integers": (-5, 2**31 - 4)}
    for name, sampler in PORTABLE_SAMPLERS.items():
        if sampler.lanes is not None:
            values = given.get(name, (2.5,))
            arrays = [np.full(n, p, kind) for p, kind in zip(values, sampler.parameters, strict=True)]
            wanted = sampler.reference(state, n, sampler.dtypes[0], *arrays)
            np.testing.assert_array_equal(drawn_by(sampler.lanes, state, n, sampler.dtypes[0], *arrays), wanted)


def test_distribution_draws_by_its_sampler_with_portable_generators(
    added: tuple[PortableSampler, PortableSampler],
) -> None:
    class Coin(RandomVariable):
        name = "coin"
        signature = "()->()"
        dtype = "int64"
        portable_sampler = added[0]

        @classmethod
        def rng_fn(cls, rng: Any, p: Any, size: Any) -> Any:
            return (rng.random(size) < p).astype("int64")

    p = tt.dscalar("p")
    for mode in ("VM", "C"):
        drawn = function([p], Coin()(p, size=100, rng=tr.shared_rng(PortableGenerator(4))), mode=mode)(0.3)
        np.testing.assert_array_equal(drawn, PortableGenerator(4).draw("heads", (100,), "int64", np.array(0.3)))
    drawn = function([p], Coin()(p, size=100, rng=tr.shared_rng(seed=4)), mode="VM")(0.3)
    np.testing.assert_array_equal(drawn, np.random.default_rng(4).random(100) < 0.3)


def test_definition_is_not_differentiated_where_a_sampler_draws(added: tuple[PortableSampler, PortableSampler]) -> None:
    class Shifted(RandomVariable):
        name = "shifted"
        signature = "()->()"
        dtype = "float64"
        portable_sampler = added[0]

        def definition(self, rng: Any, mu: Any, *, size: Any) -> Any:
            return mu + rng.random(size)

    mu = tt.dscalar("mu")
    with pytest.raises(tt.NullTypeGradError, match="shifted"):
        tt.grad(Shifted()(mu, rng=tr.shared_rng(PortableGenerator(4))), mu)


@pytest.mark.usefixtures("added")
def test_second_sampler_of_a_name_is_refused() -> None:
    with pytest.raises(DuplicateRegistrationError, match="'heads' exists already"):
        PORTABLE_SAMPLERS.add("heads", heads)
    with pytest.raises(DuplicateRegistrationError, match="'poisson' exists already"):
        PORTABLE_SAMPLERS.add("poisson", heads)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("two words", {}, "identifier"),
        ("own", {"parameters": ("float32",)}, "dtype of a parameter"),
        ("own", {"dtypes": ("uint8",)}, "dtype of a draw"),
        ("own", {"dtypes": "float64"}, "in a tuple"),
    ],
)
def test_names_and_dtypes_of_samplers_are_checked(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(tt.ArgumentError, match=said):
        PORTABLE_SAMPLERS.add(name, heads, **options)
    assert name not in PORTABLE_SAMPLERS


def test_keys_of_programs_hold_the_definition_of_a_users_sampler() -> None:
    texts = []
    for definition in (heads, tails):
        sampler = PORTABLE_SAMPLERS.add("heads", definition, parameters=("float64",))
        del PORTABLE_SAMPLERS._samplers["heads"]
        texts.append(member_texts(sampler))
    assert list(texts[0]) != list(texts[1])
