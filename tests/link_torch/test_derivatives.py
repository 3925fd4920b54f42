"""Derivatives of random graphs of complex and real numbers are those of PyTorch, and of finite differences."""

import pytest

from tests.link_torch.derivative_graphs import Group
from treadle.testing.linking import compiled, linked

LINKS = {"plain": lambda inputs, outputs: linked("vm", inputs, outputs),
         "rewritten": lambda inputs, outputs: compiled("vm", inputs, outputs)}  # fmt: skip
KINDS = {"complex": True, "real": False}
# With -m slow: groups of 100 graphs, from this seed on.
FIRST, MANY = 1000, 250


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_random_graphs_are_right(kind: str, order: int, link: str) -> None:
    assert list(Group(order, 12, KINDS[kind], order).problems(LINKS[link])) == []


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_many_random_graphs_are_right(kind: str, order: int, link: str) -> None:
    for seed in range(FIRST, FIRST + MANY):
        assert list(Group(seed, 100, KINDS[kind], order).problems(LINKS[link])) == [], seed
