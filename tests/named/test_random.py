"""Random variables with named dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.named as nm
import treadle.tensor as tt
from treadle.compile import function
from treadle.named import random


def test_draws_have_extra_dimensions_then_those_of_parameters_then_core_ones() -> None:
    rng = random.rng("rng")
    p = nm.xtensor("p", dims=("k", "a"))
    _, draw = rng.multinomial(nm.as_xtensor([3, 4], dims="b"), p, core_dims="k", extra_dims={"q": 5})
    assert draw.dims == ("q", "b", "a", "k")
    value = np.full((3, 2), 1 / 3)
    drawn = function([rng, p], draw, mode="VM")(np.random.default_rng(1), value)
    assert drawn.shape == (5, 2, 2, 3)
    assert (drawn.sum(-1) == np.array([3, 4])[:, None]).all()


def test_generators_move_on() -> None:
    rng = random.shared_rng(seed=3, name="rng")
    following, draw = rng.uniform(0.0, 1.0, extra_dims={"a": 4})
    after, other = following.gamma(2.0, 3.0)
    f = function([], [draw, other], updates={rng: after}, mode="VM")
    first, second = f(), f()
    assert (first[0] != second[0]).all()
    assert first[1] != second[1]
    rng.set_value(seed=3)
    np.testing.assert_array_equal(f()[0], first[0])
    plain = np.random.default_rng(3)
    rng.set_value(plain)
    np.testing.assert_array_equal(f()[0], np.random.default_rng(3).uniform(size=4))


# Parameters, and names of core dimensions, of some distributions.
PARAMETERS: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "bernoulli": ((0.5,), ()), "categorical": ((nm.as_xtensor([0.5, 0.5], dims="k"),), ("k",)),
    "dirichlet": ((nm.as_xtensor([1.0, 2.0], dims="k"),), ("k",)), "exponential": ((2.0,), ()),
    "chisquare": ((3.0,), ()), "gamma": ((2.0, 3.0), ()), "integers": ((0, 5), ()), "standard_normal": ((), ()),
    "multivariate_normal": (
        (nm.as_xtensor([0.0, 1.0], dims="r"), nm.as_xtensor(np.eye(2), dims=("r", "s"))), ("s", "r"),
    ),
    "matrix_normal": (
        (
            nm.as_xtensor(np.zeros((2, 3)), dims=("r", "s")), nm.as_xtensor(np.eye(2), dims=("r", "r2")),
            nm.as_xtensor(np.eye(3), dims=("s", "s2")),
        ),
        ("r", "s", "r2", "s2"),
    ),
}  # fmt: skip


def test_distributions_draw_what_plain_ones_draw() -> None:
    drawn, expected = [], []
    for name, (parameters, cores) in PARAMETERS.items():
        named, plain = random.shared_rng(seed=1), tt.random.shared_rng(seed=1)
        options = {"core_dims": cores} if cores else {}
        drawn.append(getattr(named, name)(*parameters, extra_dims={"q": 3}, **options)[1])
        values = [p.values if isinstance(p, nm.XTensorVariable) else p for p in parameters]
        if name == "gamma":
            values = [values[0], 1 / values[1]]
        expected.append(getattr(tt.random, name)(*values, size=(3,), rng=plain, return_next_rng=True)[1])
    for a, b in zip(function([], drawn, mode="VM")(), function([], expected, mode="VM")(), strict=True):
        np.testing.assert_allclose(a, b)


def test_every_distribution_is_there() -> None:
    for name in dir(tt.random):
        if isinstance(getattr(tt.random, name), tt.random.RandomVariable):
            assert name in random.__all__
            assert callable(getattr(random, name))
    _, draw = random.rng().normal(loc=1.0, scale=2.0)
    assert draw.dims == ()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda r: r.dirichlet(nm.as_xtensor([1.0], dims="k")), "1 core_dims"),
        (lambda r: r.normal(0.0, 1.0, core_dims="k"), "0 core_dims"),
        (lambda r: r.normal(nm.xtensor("m", dims="a"), 1.0, extra_dims={"a": 3}), "already"),
        (lambda r: r.normal(0.0, 1.0, extra_dims={"a": 1.5}), "must be an integer"),
        (lambda r: r.dirichlet(nm.as_xtensor([1.0], dims="k"), core_dims="q"), "lacks"),
        (lambda r: r.normal(mean=1.0), "are needed"),
        (lambda _: random.normal(0.0, 1.0, rng=np.random.default_rng(1)), "Make one with"),
        (lambda _: random.as_rng(np.random.default_rng(1)), "shared_rng"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(call: Any, text: str) -> None:
    with pytest.raises((ValueError, TypeError), match=text):
        call(random.rng("r"))


def test_an_op_of_ones_own_is_given_core_dimensions() -> None:
    draw = random.as_xrv(tt.random.multinomial, core_inps_dims_map=[(), (1,)], core_out_dims_map=(1,), name="mine")
    p = nm.as_xtensor([[0.5, 0.5]], dims=("b", "k"))
    _, drawn = draw(4, p, core_dims=("unused", "k"), rng=random.shared_rng(seed=1), return_next_rng=True)
    assert drawn.dims == ("b", "k")
    assert str(drawn.owner.op).startswith("mine_xrv")
