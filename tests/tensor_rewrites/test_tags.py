"""Queries by tag: none changes a value, an assertion or a draw, except those that ask for it by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.rule_sets import RULE_SETS
from treadle.compile import Mode, function, get_mode
from treadle.graph import explicit_graph_inputs
from treadle.rewrite import Phase, RewriteDatabaseQuery, default_database, optdb, rewrite_graph
from treadle.rewrite.tags import DOCUMENTED_TAGS
from treadle.tensor import linalg
from treadle.tensor import random as tr
from treadle.tensor.control.assertion import assert_op

# Rules that are named for dropping assertions or changing draws.
UNSAFE = {"unsafe", "local_remove_all_assert", "removed_assertion"}
OTHER_DRAWS = {"random_unsafe", "sidestep_unused_rng_consumer"}
BASES = ((), ("fast_run",), ("fast_compile",))


def _values() -> tuple[list[Any], list[Any]]:
    x, v, s = tt.dmatrix("x"), tt.dvector("v"), tt.dscalar("s")
    i, m = tt.lvector("i"), tt.tensor("m", dtype="bool", shape=(None,))
    definite = tt.assume(x @ x.T + tt.eye(x.shape[0]), positive_definite=True)
    rng = tr.shared_rng(seed=1)
    after, _ = tr.normal(size=(2,), rng=rng, return_next_rng=True)
    _, second = tr.normal(size=(2,), rng=after, return_next_rng=True)
    loop = tt.scan(lambda a, c: tt.tanh(a * c), sequences=[v], outputs_info=[s], return_updates=False)
    outputs = [
        second, tt.where(m, v, 0) / 2, tt.switch(v > 1, tt.log(v), 0.0), tt.mean(v, where=m), tt.log(tt.exp(v) + 1),
        tt.log(tt.softmax(x, axis=-1).T), x / tt.abs(x), (x * v) / v, linalg.inv(tt.diag(v)), linalg.solve(definite, v),
        linalg.det(definite), tt.eye(x.shape[0], 2).T @ x, tt.grad(tt.sum(tt.sqrt(v) * x), v), x[i] * 2,
        tt.set_subtensor(x[0], v), tt.concatenate([v, v])[:2], loop[-1], assert_op(v, tt.all(v > 0)) + 1,
        (x[::-1] ** 2).sum(0), i // 2 * 2, tt.minimum(x, 1).max(axis=1), v.astype("float32") * 2, tt.sort(v)[::-1],
    ]  # fmt: skip
    return [x, v, s, i, m], outputs


GIVEN = [
    np.array([[1.5, -2, 0.5], [3, 0.25, 1], [0.5, 2, -1]]), np.array([0.5, 1.5, 2.0]), np.array(0.3),
    np.array([2, 0]), np.array([True, False, True]),
]  # fmt: skip
A, B = tt.dscalars("a", "b")
REFUSED = [assert_op(A, tt.eq(A, B)), assert_op(A * 2, tt.gt(B, 1)) + B, tt.exp(assert_op(A, B > 5, A > 0)).sum()]


def _unique(tags: Any) -> list[tuple[str, ...]]:
    """Return queries of tags, alone and with modes: one for each set of rules."""
    database = default_database()
    queries: dict[object, tuple[str, ...]] = {}
    for base in BASES:
        for tag in sorted(tags):
            query = RewriteDatabaseQuery([*base, tag])
            queries.setdefault((base, frozenset(map(id, database.select(query)))), (*base, tag))
    return list(queries.values())


def _computed(mode: Mode) -> list[Any]:
    inputs, outputs = _values()
    return [np.asarray(value) for value in function(inputs, outputs, mode=mode)(*GIVEN)]


@pytest.fixture(scope="module")
def plain() -> list[Any]:
    """Return the values without rewriting."""
    return _computed(Mode("vm", None))


def check(tags: tuple[str, ...], plain: list[Any]) -> None:
    """Compare values and errors with those without rewriting."""
    mode = Mode("vm", RewriteDatabaseQuery(tags))
    for at, (new, old) in enumerate(zip(_computed(mode), plain, strict=True)):
        if at or not OTHER_DRAWS & {*tags}:
            np.testing.assert_allclose(new, old, rtol=1e-9, err_msg=f"{tags} {at}")
    for out in REFUSED:
        compiled = function(list(explicit_graph_inputs([out])), out, mode=mode)
        if UNSAFE & {*tags}:
            assert np.isfinite(compiled(1.0, 0.0))
        else:
            with pytest.raises(AssertionError):
                compiled(1.0, 0.0)


def test_phases_and_kinds_of_rules_keep_values_errors_and_draws(plain: list[Any]) -> None:
    kinds = {"unsafe", "shape_unsafe", "random_unsafe", "useless", "not_ieee"}
    for tags in _unique(kinds | {phase.tag for phase in Phase}):
        check(tags, plain)


@pytest.mark.slow
def test_documented_tags_keep_values_errors_and_draws(plain: list[Any]) -> None:
    for tags in _unique(DOCUMENTED_TAGS):
        check(tags, plain)


@pytest.mark.slow
def test_all_tags_and_ids_keep_values_errors_and_draws(plain: list[Any]) -> None:
    for tags in _unique(default_database().tags | {rules.name for rules in RULE_SETS}):
        check(tags, plain)


@pytest.mark.parametrize("phase", ["canonicalize", "stabilize", "specialize", "inplace", "Rule", "assertion"])
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "VM", "None"])
def test_no_phase_brings_in_what_drops_assertions(phase: str, mode: str) -> None:
    base = Mode("vm", None) if mode == "None" else get_mode(mode)
    for changed in (
        base.including(phase),
        base.including(phase, "fast_compile"),
        base.including(phase).excluding("merge"),
    ):
        with pytest.raises(AssertionError):
            function([A, B], REFUSED[0], mode=changed)(1.0, 0.0)


def test_rewriting_a_graph_without_options_keeps_assertions() -> None:
    assert str(rewrite_graph(REFUSED[0])).startswith("Assert")
    assert rewrite_graph(REFUSED[0], include=("canonicalize", "unsafe")) is A


@pytest.mark.parametrize(
    "query",
    [
        RewriteDatabaseQuery(["canonicalize", "stabilize", "specialize"]),
        RewriteDatabaseQuery(["canonicalize"], require=["unsafe"]),
        RewriteDatabaseQuery(["assertion", "random", "Rule"]),
        RewriteDatabaseQuery(["stabilize"], exclude=["assertion"]),
        RewriteDatabaseQuery(["fast_run"], subquery={"canonicalize": RewriteDatabaseQuery(["canonicalize"])}),
    ],
    ids=str,
)
def test_rules_for_asking_are_found_by_their_own_tags_only(query: RewriteDatabaseQuery) -> None:
    names = {"removed_assertion", "sidestep_unused_rng_consumer", "search_as_loop", "normalization_by_rows"}
    assert not names & {str(rule) for rule in default_database().select(query)}
    rules = {str(rule) for rule in default_database().select(query.including("unsafe"))}
    assert ("removed_assertion" in rules) == ("assertion" not in query.exclude)


def test_a_database_of_a_phase_finds_them_by_their_own_tags_only() -> None:
    canonicalize = optdb["canonicalize"]
    assert "removed_assertion" not in {str(rule) for rule in canonicalize.select("+canonicalize")}
    assert "removed_assertion" in {str(rule) for rule in canonicalize.select("+removed_assertion")}
    assert "removed_assertion" not in {str(rule) for rule in canonicalize.select("+unsafe", "-assertion")}
