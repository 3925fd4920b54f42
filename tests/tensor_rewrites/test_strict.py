"""Rules that change values at special operands say so, carry a mark, and are left out by one tag."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import EVERYTHING, rewrite, run, text
from tests.tensor_rewrites.rule_sets import RULE_SETS
from treadle.compile import function, get_mode
from treadle.rewrite import RewriteDatabaseQuery, default_database
from treadle.tensor import OpFromGraph

MARKED = [rule for rules in RULE_SETS for rule in rules if "not_ieee" in rule.tags]


def test_rule_is_marked_just_where_its_law_says_that_it_differs() -> None:
    for rules in RULE_SETS:
        for rule in rules:
            assert ("not_ieee" in rule.tags) is (" Differs " in rule.law), rule.name
    assert MARKED


@pytest.mark.parametrize("ask", ["including", "excluding", "requiring"])
def test_query_that_names_strict_ieee_leaves_marked_rules_out(ask: str) -> None:
    query = getattr(RewriteDatabaseQuery(["fast_run"]), ask)("strict_ieee")
    assert query == RewriteDatabaseQuery(["fast_run"], exclude=["not_ieee"])
    selected = default_database().select(query)
    assert {rule.name for rule in selected}.isdisjoint(rule.name for rule in MARKED)
    assert "constant_folding" in {rule.name for rule in selected}


def test_strict_query_stays_strict_with_further_tags() -> None:
    query = RewriteDatabaseQuery(["fast_run"]).including("strict_ieee").including("fusion").excluding("inplace")
    assert "not_ieee" in query.exclude


def test_tag_with_a_sign_asks_for_strict_rules_too() -> None:
    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [x + 0], RewriteDatabaseQuery(["fast_run", "strict_ieee"]))
    assert text(fgraph.outputs[0]) == "add(x, [0.0])"


def test_mode_with_strict_ieee_computes_expressions_as_written() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    outputs = [tt.log(tt.exp(x)), x * y / y, x - x + y, x + 0, tt.log(1 / x)]
    f = function([x, y], outputs, mode=get_mode("VM").including("strict_ieee"))
    values = np.array([1000.0, -0.0, np.inf]), np.array([0.0, 1.0, 1.0])
    with np.errstate(all="ignore"):
        a, b = values
        expected = [np.log(np.exp(a)), a * b / b, a - a + b, a + 0, np.log(1 / a)]
    for result, wanted in zip(f(*values), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)
        assert (np.signbit(result) == np.signbit(wanted))[~np.isnan(wanted)].all()


def test_graph_inside_an_op_is_rewritten_strictly_too() -> None:
    x = tt.dvector("x")
    for inline in (False, True):
        op = OpFromGraph([x], [tt.log(tt.exp(x))], inline=inline)
        f = function([x], op(x), mode=get_mode("VM").including("strict_ieee"))
        with np.errstate(over="ignore"):
            assert f([1000.0]) == np.inf


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x.sum(axis=0),
        lambda x: (-x).sum(axis=0),
        lambda x: (3 * x).sum(axis=0),
        lambda x: tt.concatenate([x, x], axis=0).prod(axis=0),
        lambda x: tt.set_subtensor(tt.zeros_like(x)[:1], x[:1]) + x,
        lambda x: tt.inc_subtensor(tt.zeros_like(x)[:1], x[:1]),
        lambda x: tt.softmax(x, axis=0) * tt.exp(x),
    ],
)
@pytest.mark.parametrize("length", [0, 1, 3])
def test_strict_rules_keep_zeros_infinities_and_nan_of_sums(build: Any, length: int) -> None:
    x = tt.dmatrix("x")
    value = np.resize(np.array([-0.0, 1e308, -np.inf, np.inf, np.nan, -0.0, 1e308]), (length, 5))
    plain, _ = rewrite([x], [build(x)], RewriteDatabaseQuery())
    fgraph, _ = rewrite([x], [build(x)], EVERYTHING.including("strict_ieee"))
    with np.errstate(all="ignore"):
        (old,), (new,) = run(plain, [value]), run(fgraph, [value])
    np.testing.assert_array_equal(new, old)
    assert (np.signbit(new) == np.signbit(old))[~np.isnan(old)].all()
