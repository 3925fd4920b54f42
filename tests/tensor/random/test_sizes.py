"""Sizes of draws, where lengths are known only when the program runs."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import random as tr

GENERATORS: dict[str, Any] = {"numpy": np.random.default_rng(1), "portable": tr.PortableGenerator(1)}


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("kind", GENERATORS)
def test_a_parameter_of_unknown_length_fits_a_size_of_one_or_is_refused(kind: str, mode: str) -> None:
    mu = tt.dvector("mu")
    draw = function([mu], tr.normal(mu, size=(1,), rng=tr.shared_rng(GENERATORS[kind])), mode=mode)
    assert draw([5.0]).shape == (1,)
    with pytest.raises(ValueError, match="normal"):
        draw([5.0, 6.0, 7.0])


def test_a_negative_size_is_refused_by_name() -> None:
    with pytest.raises(tt.ShapeError, match="size: negative dimensions are not allowed"):
        tr.normal(size=(2, -1))


def names(*outputs: Any) -> list[str]:
    """Return the names of the classes of ops of a compiled function."""
    compiled = function([], list(outputs), mode="VM")
    return [type(node.op).__name__ for node in compiled.maker.fgraph.toposort()]


def test_shapes_of_draws_are_known_without_drawing() -> None:
    y, n = tt.shared(np.ones((2, 3))), tt.shared(4)
    two = tt.shared(np.array([4, 5]), shape=(2,))
    r = tr.shared_rng(seed=1)
    draws = [
        tr.normal(y, y[0], rng=r),
        tr.normal(0.0, y[0], size=(n, 3), rng=r),
        tr.normal(size=y.shape, rng=r),
        tr.normal(size=two, rng=r),
        tr.multivariate_normal(y, np.eye(3), size=(n, 2), rng=r),
    ]
    assert not [name for name in names(*(x.shape for x in draws)) if name.endswith("RV")]
    shapes = [shape.tolist() for shape in function([], [x.shape for x in draws], mode="VM")()]
    assert shapes == [[2, 3], [4, 3], [2, 3], [4, 5], [4, 2, 3]]
    assert shapes == [list(x.shape) for x in function([], draws, mode="VM")()]


def test_an_empty_size_is_a_single_draw() -> None:
    assert tr.normal(size=(), rng=tr.shared_rng(seed=1)).eval().shape == ()
    with pytest.raises(tt.ShapeError, match="the size has 0 dimensions, the parameters 1"):
        tr.normal(np.ones(3), size=())


def test_a_size_of_no_known_number_of_lengths_or_of_fractions_is_refused() -> None:
    with pytest.raises(tt.TensorTypeError, match="size: a shape of known length is needed"):
        tr.normal(size=tt.lvector())
    with pytest.raises(tt.TensorTypeError, match="size: lengths must be integer scalars"):
        tr.normal(size=(2.5,))
