"""Permutations and choices of any arrays, along any dimension."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import random as tr
from treadle.tensor.errors import ArgumentError, ShapeError

X1, X3 = np.arange(7) * 1.5, np.arange(24.0).reshape(4, 2, 3)
P = np.array([0.1, 0.2, 0.3, 0.4])
# Calls that are the same for treadle and for NumPy's Generator.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("permutation", (6,), {}),
    ("permutation", (0,), {}),
    ("permutation", (X1,), {}),
    ("permutation", (X3,), {}),
    ("permutation", (X3,), {"axis": -1}),
    ("permuted", (X3,), {"axis": 1}),
    ("permuted", (X3,), {}),
    ("choice", (5,), {}),
    ("choice", (5,), {"replace": False}),
    ("choice", (4,), {"p": P}),
    ("choice", (X1,), {"size": (3, 4)}),
    ("choice", (X3,), {"size": (3, 4)}),
    ("choice", (X3,), {"size": 5, "axis": 2}),
    ("choice", (X3,), {"size": 3, "replace": False}),
    ("choice", (X3,), {"size": 2, "replace": False, "axis": -1}),
    ("choice", (4,), {"size": (2,), "replace": False, "p": P}),
    ("choice", (X3,), {"size": (2, 2), "replace": False, "p": P}),
    ("choice", (100,), {"size": 60, "replace": False, "shuffle": False}),
    ("choice", (20000,), {"size": 6000, "replace": False}),
    ("choice", (5,), {"size": (2, 0), "replace": False}),
    ("choice", (5,), {"size": (), "replace": False}),
]


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_all_are_those_of_numpys_generator(mode: str) -> None:
    shared = rng = tr.shared_rng(seed=5)
    variables = []
    for name, args, options in CALLS:
        rng, draw = getattr(tr, name)(*args, **options, rng=rng, return_next_rng=True)
        variables.append(draw)
    values = function([], variables, updates={shared: rng}, mode=mode)()
    theirs = np.random.default_rng(5)
    for (name, args, options), draw, variable in zip(CALLS, values, variables, strict=True):
        wanted = np.asarray(getattr(theirs, name)(*args, **options))
        np.testing.assert_array_equal(draw, wanted, err_msg=f"{name} {options}")
        assert draw.dtype == wanted.dtype == variable.dtype
    assert shared.get_value().bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_portable_ones_have_the_shapes_of_numpys(mode: str) -> None:
    rng = tr.shared_rng(tr.PortableGenerator(5))
    variables = []
    for name, args, options in CALLS:
        rng, draw = getattr(tr, name)(*args, **options, rng=rng, return_next_rng=True)
        variables.append(draw)
    theirs = np.random.default_rng(5)
    for (name, args, options), draw in zip(CALLS, function([], variables, mode=mode)(), strict=True):
        wanted = np.asarray(getattr(theirs, name)(*args, **options))
        assert (draw.shape, draw.dtype) == (wanted.shape, wanted.dtype), f"{name} {options}"
        if name != "choice":
            np.testing.assert_array_equal(np.sort(draw, None), np.sort(wanted, None))


@pytest.mark.parametrize("kind", [np.random.default_rng, tr.PortableGenerator])
def test_choices_without_replacement_are_as_likely_as_numpys(kind: Any) -> None:
    draws = tr.ChoiceWithoutReplacement(signature="(),(a),(1)->(s0)", dtype="int64")
    a = tt.as_tensor_variable(np.full(6000, 4))
    pairs_drawn = function([], draws(a, P, [2], rng=tr.shared_rng(kind(3))), mode="VM")()
    assert np.all(pairs_drawn[:, 0] != pairs_drawn[:, 1])
    pairs = np.bincount(4 * pairs_drawn[:, 0] + pairs_drawn[:, 1], minlength=16).reshape(4, 4) / 6000
    wanted = P[:, None] * P / (1 - P[:, None]) * (1 - np.eye(4))
    assert np.abs(pairs - wanted).max() < 0.02


@pytest.mark.parametrize("kind", [np.random.default_rng, tr.PortableGenerator])
@pytest.mark.parametrize(
    ("a", "options", "text"),
    [
        (3, {"size": 5, "replace": False}, "Cannot take a larger sample"),
        (4, {"size": 4, "replace": False, "p": [0.5, 0.5, 0, 0]}, "Fewer non-zero entries in p than size"),
        (3, {"p": P}, "a and p must have same size"),
        (4, {"size": 2, "replace": False, "p": 2 * P}, "Probabilities do not sum to 1"),
        (np.zeros(0), {}, "low >= high|high <= 0"),
    ],
)
def test_choices_that_cannot_be_made_are_refused(kind: Any, a: Any, options: dict[str, Any], text: str) -> None:
    draw = tr.choice(tt.shared(np.asarray(a)), **options, rng=tr.shared_rng(kind(1)))
    with pytest.raises(ValueError, match=text):
        function([], draw, mode="VM")()


def test_what_has_no_elements_is_refused_when_the_graph_is_built() -> None:
    with pytest.raises(ArgumentError, match="an array or an integer is needed"):
        tr.permutation(2.5)
    with pytest.raises(ShapeError, match="of rank 1 or more"):
        tr.shuffle(3)
    with pytest.raises(ShapeError, match="p must be a vector"):
        tr.choice(2, p=np.full((2, 2), 0.5))


def test_batches_of_permutations_are_independent() -> None:
    permutations = function([], tr.permutation(X3, size=(5,), rng=tr.shared_rng(seed=2)), mode="VM")()
    theirs = np.random.default_rng(2)
    np.testing.assert_array_equal(permutations, [theirs.permutation(X3) for _ in range(5)])


def test_portable_generators_have_the_methods() -> None:
    generator, theirs = tr.PortableGenerator(5), np.random.default_rng(5)
    for name, args, options in CALLS:
        drawn, wanted = (np.asarray(getattr(g, name)(*args, **options)) for g in (generator, theirs))
        assert (drawn.shape, drawn.dtype) == (wanted.shape, wanted.dtype), f"{name} {options}"
        if name != "choice":
            np.testing.assert_array_equal(np.sort(drawn, None), np.sort(wanted, None))
    x = np.arange(50)
    generator.shuffle(x)
    assert not np.array_equal(x, np.arange(50))
    np.testing.assert_array_equal(np.sort(x), np.arange(50))
    with pytest.raises(ValueError, match="a and p must have same size"):
        generator.choice(3, p=P)
