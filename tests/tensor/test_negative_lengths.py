"""Negative lengths are errors wherever they are errors of NumPy's, and no shape is ever negative."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor
from treadle.compile import Mode, function

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
        if name[:7] != "reshape":  # for these -1 is not a negative length
            computed(3, np.ones(4))
        with pytest.raises(ValueError, match=r"negative|cannot reshape|1 or more"):
            computed(-1, np.ones(4))


@pytest.mark.parametrize("name", [name for name in REFUSED if name[:7] != "reshape"])
def test_a_negative_length_that_is_known_is_refused_at_once(name: str) -> None:
    with pytest.raises(ValueError, match=r"negative|0 or more|1 or more|must not"):
        REFUSED[name](-5)


# Uses that need no element, or not those that a rewrite leaves out.
USES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: x.shape,
    "size": lambda x: x.size,
    "shape of a function": lambda x: tt.exp(x).shape,
    "sum of a slice": lambda x: x[:1].sum(),
    "shape of a slice": lambda x: x[1:].shape,
    "shape of a join": lambda x: tt.concatenate([x, x]).shape,
    "shape of a transpose": lambda x: x.T.shape,
    "shape of a stack": lambda x: tt.stack([x, x]).shape,
}
MADE: dict[str, Callable[[Any], Any]] = {
    **{name: build for name, build in REFUSED.items() if name.split()[0] not in {"reshape", "sum"}},
    "ones": lambda n: tt.ones((n,)),
    "full of rows": lambda n: tt.full((n, 3), 2.0),
    "alloc of a vector": lambda n: tt.alloc(X[:1], n, 3),
    "broadcast_to": lambda n: tt.broadcast_to(X[:1], (n, 3)),
    "indices": lambda n: tt.indices((n, 3))[0],
    "tile": lambda n: tt.tile(X, n),
    "resize": lambda n: tt.resize(X, (n, 3)),
    "fft of n": lambda n: tt.fft.fft(X, n=n).real,
    "irfft": lambda n: tt.fft.irfft(X, n=n),
    "zeros_like": lambda n: tt.zeros_like(tt.ones((n, 2))),
    "identity_like": lambda n: tt.identity_like(tt.ones((n, n))),
    "pad on both sides": lambda n: tt.pad(X, n),
}


@pytest.mark.parametrize("name", MADE)
def test_error_stays_whatever_is_used_of_the_result(name: str) -> None:
    tensor = MADE[name](N)
    for of in USES.values():
        computed = function([N, X], of(tensor), mode=Mode("vm", "fast_run"), on_unused_input="ignore")
        computed(3, np.ones(4))
        with pytest.raises(ValueError, match=r"negative|1 or more"):
            computed(-1, np.ones(4))


@pytest.mark.parametrize("mode", ["C", "NUMBA"])
def test_compiled_shapes_of_what_cannot_be_made_are_errors(mode: str) -> None:
    shapes = [tt.zeros((N, N)).shape, tt.full((N, 3), 2.0)[:1].sum(), tt.fft.rfft(X, n=N).shape, tt.tile(X, N).size]
    computed = function([N, X], shapes, mode=mode)
    assert [np.asarray(value).tolist() for value in computed(4, np.ones(4))] == [[4, 4], 6.0, [3], 16]
    with pytest.raises(ValueError, match=r"negative|1 or more"):
        computed(-5, np.ones(4))


def test_triangles_without_length_have_no_positions() -> None:
    rows, columns = function([N], [*tt.tril_indices(N)], mode="VM")(-1)
    assert rows.shape == columns.shape == (0,)


def test_lengths_of_tensors_need_no_check() -> None:
    fgraph = function([X], tt.eye(X.shape[0]), mode="VM").maker.fgraph
    assert not any("CheckAndRaise" in str(node.op) for node in fgraph.apply_nodes)
