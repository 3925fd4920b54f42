"""Each rule: its result for an expression, and that values stay the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.tensor_rewrites import cases_linear_algebra
from tests.tensor_rewrites.cases import CASES, Case
from tests.tensor_rewrites.expressions import Rewritten, rewritten
from tests.tensor_rewrites.graphs import EVERYTHING, assert_same, rewrite, text
from tests.tensor_rewrites.rule_sets import RULE_SETS
from treadle.rewrite import RewriteDatabaseQuery, Rule
from treadle.tensor.random.rules import RULES as RANDOM

if TYPE_CHECKING:
    from collections.abc import Sequence

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 700.0, -700.0, 1e-9]
MODERATE = [-2.0, -1.25, -0.5, -0.125, 0.25, 0.5, 0.75, -3.0, 0.3, 0.6, -0.9, -1.1]


def number(case: Case) -> str:
    return f"{case.rule}-{CASES.index(case)}"


def values_for(inputs: Sequence[Any], floats: Sequence[float]) -> list[Any]:
    """Return values of the inputs' types, floats from a list."""
    arrays = []
    for k, var in enumerate(inputs):
        kind = var.type
        if kind.numpy_dtype.kind == "f":
            shape = tuple({0: 4, 1: 3}[d] if kind.ndim == 2 else 12 for d in range(kind.ndim))
            shape = tuple(n if m is None else m for n, m in zip(shape, kind.shape, strict=True))
            shape = {"k": (3, 4), "row": (1, 3), "cube": (2, 4, 3)}.get(var.name, shape)
            rolled = np.roll(np.array(floats), k)
            arrays.append(np.resize(rolled, shape).astype(kind.dtype))
        elif kind.ndim == 0:
            arrays.append(np.array(3, kind.dtype))
        elif var.name == "idx":
            arrays.append(np.array([0, 2, 1, 2], kind.dtype))
        else:
            arrays.append(np.resize(np.array([0, 1, -3, 7, 100]), 12).astype(kind.dtype))
    return arrays


def keeps_moderate_values(case: Case, both_forms: Rewritten) -> None:
    values = values_for(both_forms.inputs, MODERATE)
    old, new = both_forms.before(values), both_forms.after(values)
    if not case.keeps_nan:
        new = [np.where(np.isfinite(a), b, a) for a, b in zip(old, new, strict=True)]
    assert_same(old, new, rtol=case.rtol)


def keeps_every_value_that_the_plain_form_gets_right(case: Case, both_forms: Rewritten) -> None:
    values = values_for(both_forms.inputs, SPECIAL)
    # Wider arithmetic tells which values of the plain form are right; where even that overflows, nothing is compared.
    (old,), (new,) = both_forms.before(values), both_forms.after(values)
    assert old.shape == new.shape
    some_nan = np.zeros(old.shape, bool)
    for value in values:
        if value.shape == old.shape:
            some_nan |= np.isnan(value)
    assert np.isnan(new[some_nan]).all() or not case.keeps_nan
    finite = np.isfinite(old) & np.isfinite(new) & (np.abs(old) > 1e-6)
    np.testing.assert_allclose(new[finite], old[finite], rtol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=number)
def test_rule_gives_the_expected_expression_of_the_same_values(case: Case) -> None:
    both_forms = rewritten(case)
    assert case.rule in both_forms.report.fired()
    assert text(both_forms.fgraph.outputs[0]) == case.expected
    keeps_moderate_values(case, both_forms)
    if case.exact:
        values = values_for(both_forms.inputs, SPECIAL)
        assert_same(both_forms.before(values), both_forms.after(values))
    else:
        keeps_every_value_that_the_plain_form_gets_right(case, both_forms)


def test_excluded_rules_do_not_fire() -> None:
    names = {case.rule for case in CASES}
    without = RewriteDatabaseQuery(["fast_run"], exclude=["fusion", *names])
    for both_forms in map(rewritten, CASES):
        _, report = rewrite(both_forms.inputs, [both_forms.expression], without)
        assert names.isdisjoint(report.fired())


def test_every_local_rule_has_a_case() -> None:
    items = [item for rules in RULE_SETS for item in rules]
    named = {case.rule for case in CASES} | {case.rule for case in cases_linear_algebra.CASES}
    # Rules that have to be asked for are tested elsewhere, and so are those about generators.
    wanted = {item.name for item in items if isinstance(item, Rule) and item.asked_by is None}
    assert wanted - {item.name for item in RANDOM} <= named
    assert named <= {item.name for item in items}


def test_every_law_states_both_sides() -> None:
    for rules in RULE_SETS:
        for item in rules:
            assert "->" in item.law, item.name


def test_no_law_shows_a_name_of_the_code() -> None:
    laws = [item.law for rules in RULE_SETS for item in rules]
    assert not [law for law in laws if re.search(r"(?<![\w\])])_\w", law)]


def test_query_of_everything_leaves_fusion_out() -> None:
    assert "fusion" in EVERYTHING.exclude
