"""Random graphs give the same values on every backend, with rewriting and without."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from tests.contract.backends import BACKENDS
from treadle.testing import Recipe, compare, recipes

# Several graphs are compiled as one function; examples are the same in every run unless more are asked for.
groups = strategies.lists(recipes, min_size=4, max_size=8)
FEW = settings(max_examples=4, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(groups)
def test_backends_agree_about_random_graphs(backend: str, recipes: list[Recipe]) -> None:
    compare(recipes, backend)


@settings(FEW, max_examples=60)
@given(groups, strategies.integers(0, 99))
def test_rewriting_keeps_the_results_of_random_graphs(recipes: list[Recipe], seed: int) -> None:
    compare(recipes, "vm", seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("rewritten", [False, True], ids=["plain", "rewritten"])
@pytest.mark.parametrize("backend", BACKENDS)
@MANY
@given(groups, strategies.integers(0, 99))
def test_backends_agree_about_many_random_graphs(
    backend: str, rewritten: bool, recipes: list[Recipe], seed: int
) -> None:
    compare(recipes, backend, rewritten, seed)
