"""Negative lengths are errors wherever they are errors of NumPy's, and no shape is ever negative."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor
from treadle.compile import function

tt: Any = treadle.tensor
N = tt.lscalar("n")
X = tt.dvector("x")
REFUSED: dict[str, Callable[[Any], Any]] = {
    "eye": tt.eye,
    "eye of columns": lambda n: tt.eye(3, n),
    "linspace": lambda n: tt.linspace(0.0, 1.0, n),
    "logspace": lambda n: tt.logspace(0.0, 1.0, n),
    "geomspace": lambda n: tt.geomspace(1.0, 2.0, n),
    "zeros": lambda n: tt.zeros((n, 2)),
    "full": lambda n: tt.full((n,), 2.0),
    "empty": lambda n: tt.empty((n,)),
    "alloc": lambda n: tt.alloc(1.0, n),
    "fft": lambda n: tt.fft.rfft(X, n=n),
    "fftfreq": tt.fft.fftfreq,
    "size": lambda n: tt.random.normal(size=(n,)),
    "repeat": lambda n: tt.repeat(X, n),
    "pad": lambda n: tt.pad(X, (n, 0)),
    "sum of zeros": lambda n: tt.zeros((n,)).sum(),
    "sum of ones": lambda n: tt.ones((n,)).sum(),
    "reshape to nothing": lambda n: tt.reshape(tt.zeros((0,)), (n, 0)),
    "reshape of nothing": lambda n: tt.reshape(X[:0], (n, 0)),
}


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_a_negative_length_is_refused_when_it_is_given(mode: str) -> None:
    for name, build in REFUSED.items():
        computed = function([N, X], build(N), mode=mode, on_unused_input="ignore")
        if name[:7] != "reshape":  # to which -1 is no negative length
            computed(3, np.ones(4))
        with pytest.raises(ValueError, match=r"negative|cannot reshape|1 or more"):
            computed(-1, np.ones(4))


@pytest.mark.parametrize("name", [name for name in REFUSED if name[:7] != "reshape"])
def test_a_negative_length_that_is_known_is_refused_at_once(name: str) -> None:
    with pytest.raises(ValueError, match=r"negative|0 or more|1 or more|must not"):
        REFUSED[name](-5)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_no_shape_is_negative(mode: str) -> None:
    shapes = [
        tt.zeros((N, N)).shape,
        tt.full((N, 3), 2.0).shape[0],
        tt.fft.rfft(X, n=N).shape,
        tt.random.normal(size=(N,)).shape,
        tt.ones((N,)).size,
    ]
    computed = function([N, X], shapes, mode=mode)
    assert all((np.asarray(found) >= 0).all() for found in computed(-5, np.ones(4)))
    assert [np.asarray(found).tolist() for found in computed(4, np.ones(4))] == [[4, 4], 4, [3], [4], 4]


def test_lengths_of_tensors_need_no_check() -> None:
    made = function([X], tt.eye(X.shape[0]), mode="VM").maker.fgraph
    assert not any("CheckAndRaise" in str(node.op) for node in made.apply_nodes)
