"""Graphs with random variables: derivatives, composites, conditions, replacements, and the modes that check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import NanGuardMode, function
from treadle.graph import clone_replace
from treadle.tensor import random as tr
from treadle.tensor.control.conditional import ifelse

Z = np.random.default_rng(5).normal(size=3)


def stream() -> Any:
    return tr.shared_rng(seed=5)


def test_draws_have_derivatives_of_first_and_second_order() -> None:
    m, s = tt.dvector("m"), tt.dscalar("s")
    x = tr.normal(m, s, rng=stream())
    (by_m, by_s), forward = tt.grad(x.sum(), [m, s]), tt.Rop(x, s, tt.constant(1.0))
    second = tt.grad(tt.grad((x**2).sum(), s), s)
    derivatives = function([m, s], [by_m, by_s, forward, second], mode="VM")(np.ones(3), 2.0)
    for value, expected in zip(derivatives, [np.ones(3), Z.sum(), Z, 2 * (Z**2).sum()], strict=True):
        np.testing.assert_allclose(value, expected)


def test_derivatives_follow_a_chain_of_draws_but_not_one_that_is_cut_off() -> None:
    m = tt.dscalar("m")
    following, x = tr.normal(m, 2.0, rng=stream(), return_next_rng=True)
    y = tr.normal(x, 1.0, rng=following)
    whole, cut = tt.grad(x * y, m), tt.grad(tt.disconnected_grad(x) * m, m)
    slopes = function([m], [whole, x + y, cut, x], mode="VM")(3.0)
    assert slopes[0] == slopes[1]
    assert slopes[2] == slopes[3]


@pytest.mark.parametrize("variable", [tr.rng("r"), tt.lscalar("n")])
def test_there_are_no_derivatives_by_generators_and_sizes(variable: Any) -> None:
    x = tr.normal(rng=variable) if variable.name == "r" else tr.normal(size=(variable,), rng=stream())
    with pytest.raises(tt.DisconnectedInputError, match=f"does not depend on {variable.name}"):
        tt.grad(x.sum(), variable)


@pytest.mark.parametrize("inline", [False, True])
def test_composites_take_and_return_generators(inline: bool) -> None:
    r, m = tr.rng("r"), tt.dscalar("m")
    composite = tt.OpFromGraph([r, m], list(tr.normal(m, size=(3,), rng=r, return_next_rng=True)), inline=inline)
    kept, centre = stream(), tt.dscalar("centre")
    following, x = composite(kept, centre)
    draw = function([centre], [x, tt.grad(x.sum(), centre)], updates={kept: following}, mode="VM")
    rng = np.random.default_rng(5)
    for _ in range(2):
        drawn, slope = draw(2.0)
        np.testing.assert_array_equal(drawn, rng.normal(2.0, size=3))
        assert slope == 3


def test_generators_are_chosen_and_replaced() -> None:
    choice, r = tt.bscalar("choice"), tr.rng("r")
    chosen = tr.normal(rng=ifelse(choice, stream(), tr.shared_rng(seed=7)))
    draw = function([choice], chosen, mode="VM")
    assert [draw(1), draw(0)] == [np.random.default_rng(seed).normal() for seed in (5, 7)]
    x = tr.normal(rng=r)
    replaced = clone_replace(x, {r: stream()})
    draws = [replaced.eval(), x.eval({r: np.random.default_rng(5)}), function([], x, givens={r: stream()}, mode="VM")()]
    assert draws == [Z[0]] * 3


@pytest.mark.parametrize("value", [np.random.default_rng(5), tr.PortableGenerator(5)], ids=["numpy", "portable"])
def test_modes_that_check_draw_the_same_numbers(value: Any) -> None:
    drawn = []
    for mode in ("VM", "DebugMode", NanGuardMode()):
        kept = tr.shared_rng(value)
        following, x = tr.normal(1.0, 2.0, size=(3,), rng=kept, return_next_rng=True)
        following, y = tr.normal(x, 2.0, rng=following, return_next_rng=True)
        draw = function([], 2 * x + y, updates={kept: following}, mode=mode)
        drawn.append([draw(), draw()])
    np.testing.assert_allclose(drawn[1], drawn[0], rtol=1e-14)
    np.testing.assert_allclose(drawn[2], drawn[0], rtol=1e-14)
