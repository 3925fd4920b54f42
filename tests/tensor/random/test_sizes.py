"""Sizes of draws, where lengths are known only when the program runs."""

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import random as tr

GENERATORS = {"numpy": np.random.default_rng(1), "portable": tr.PortableGenerator(1)}


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
