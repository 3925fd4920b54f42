"""Elementwise functions at the special values of every dtype.

As written they agree with NumPy, strictly rewritten they agree with that, and with all rules they differ only where a
rule says that it does.
"""

from __future__ import annotations

import random
from os import environ
from typing import TYPE_CHECKING

import pytest

from tests.tensor_rewrites.graphs import EVERYTHING
from tests.tensor_rewrites.rule_sets import RULE_SETS
from tests.tensor_rewrites.special_values import (
    DTYPES,
    PLAIN,
    differences,
    expected_of,
    pairs_of_functions,
    pairs_with_operands,
    random_samples,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.tensor_rewrites.special_values import Sample

STRICT = EVERYTHING.including("strict_ieee")
MARKED = {rule.name for rules in RULE_SETS for rule in rules if "not_ieee" in rule.tags}
# Powers are multiplied out, and exponents of such powers are large.
ULPS = 150
BATCH = 200
# The long form: how many batches, and the first seed.
BATCHES, SEED = int(environ.get("TREADLE_TEST_BATCHES", "500")), int(environ.get("TREADLE_TEST_SEED", "1000"))


def check(samples: Sequence[Sample]) -> None:
    """Compare NumPy, the graphs as written, strictly rewritten and rewritten by all rules."""
    written, _ = values_of(samples, PLAIN)
    assert differences(samples, expected_of(samples), written, 4) == []
    strict, report = values_of(samples, STRICT)
    assert MARKED.isdisjoint(report.fired())
    assert differences(samples, written, strict, ULPS) == []
    rewritten, _ = values_of(samples, EVERYTHING)
    for item, text in differences(samples, written, rewritten, ULPS):
        _, report = values_of([item], EVERYTHING)
        assert not MARKED.isdisjoint(report.fired()), text


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions_keep_their_values(seed: int) -> None:
    check(random_samples(random.Random(seed), BATCH))


@pytest.mark.parametrize("dtype", ["float64", "int8"])
def test_two_functions_one_after_the_other_keep_their_values(dtype: str) -> None:
    check(pairs_of_functions(dtype)[::7])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_pairs_of_functions_keep_their_values(dtype: str) -> None:
    samples = pairs_of_functions(dtype)
    for start in range(0, len(samples), BATCH):
        check(samples[start : start + BATCH])


@pytest.mark.slow
@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("same", [True, False])
def test_all_pairs_of_functions_of_two_operands_keep_their_values(first: str, same: bool) -> None:
    second = first if same else DTYPES[(DTYPES.index(first) + 4) % len(DTYPES)]
    samples = pairs_with_operands(first, second)
    for start in range(0, len(samples), BATCH):
        check(samples[start : start + BATCH])


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_random_expressions_keep_their_values(batch: int) -> None:
    check(random_samples(random.Random(SEED + batch), BATCH))
