"""Reductions, shapes, products and indexing on every dtype, against the Python VM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_torch.programs import check, link, sample, tensor

if TYPE_CHECKING:
    from collections.abc import Callable

REAL = tuple(d for d in tt.DTYPES if not d.startswith("complex"))
AXES: tuple[Any, ...] = (None, 0, (0, 2), (1,))


def reductions(x: Any) -> list[Any]:
    """Return all reductions of a tensor."""
    functions: list[Callable[..., Any]] = [tt.sum, tt.prod, tt.max, tt.min, tt.all, tt.any, tt.argmax, tt.argmin]
    reduced = [f(x, axis=axes) for f in functions for axes in AXES]
    reduced += [tt.sum(x, axis=axes, acc_dtype="uint32", dtype="uint16") for axes in AXES if x.dtype[0] in "iub"]
    if x.type.numpy_dtype.kind == "f":
        reduced += [f(x, axis=axes) for f in (tt.softmax, tt.log_softmax, tt.logsumexp) for axes in AXES]
    return reduced


def indices(x: Any, n: Any, k: Any, ix: Any, im: Any) -> list[Any]:
    """Return many parts of a tensor of shape (3, 4, 2) for n = 1, k = 2."""
    return [
        x[1], x[:, -1], x[n], x[:, k - 2, n], x[::2, ::-1], x[::-3, 1:, ::-1], x[n:], x[:k, n:k], x[-1:n:-1], x[ix],
        x[:, ix], x[ix, :, im[0, :1]], x[ix[:2], 1], x[:, im, 0], x[0, :, im], x[im, im], x[n : n + 1, im], x[5:],
        x[3:1], x[ix * 0 - 1], x[n, ix],
    ]  # fmt: skip


POSITIONS = (np.array(1), np.array(2), np.array([0, 1, -1, 1]), np.array([[0, 1], [-1, 0]]))


@pytest.mark.parametrize("dtype", REAL)
def test_reductions_agree_with_numpy(dtype: str) -> None:
    x = tensor(dtype, 3)
    check([x], reductions(x), [sample(dtype, (3, 8, 2))[::-1, ::-2]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_reductions_of_nan_and_infinities_agree_with_numpy(dtype: str) -> None:
    x = tensor(dtype, 3)
    values = sample(dtype, (3, 4, 2))
    values[0, 0, 0], values[1, 1, 1], values[2] = np.nan, np.inf, -np.inf
    check([x], reductions(x), [values])


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float64"])
def test_reductions_over_no_elements_have_their_identity(dtype: str) -> None:
    x = tensor(dtype, 2)
    outputs = [tt.sum(x), tt.prod(x, axis=1), tt.all(x, axis=0), tt.any(x, axis=1), tt.max(x, axis=0)]
    outputs += [tt.logsumexp(x, axis=1), tt.softmax(x, axis=1)] if dtype == "float64" else []
    check([x], outputs, [np.zeros((3, 0), dtype)])


@pytest.mark.parametrize("function", [tt.max, tt.min, tt.argmax])
def test_an_extremum_of_no_elements_is_a_value_error(function: Callable[..., Any]) -> None:
    x = tt.dmatrix("x")
    with pytest.raises(ValueError, match=r"test_structure\.py"):
        link([x], [function(x, axis=1)])(np.zeros((3, 0)))


@pytest.mark.parametrize("dtype", REAL)
def test_indexing_agrees_with_numpy(dtype: str) -> None:
    x = tensor(dtype, 3)
    n, k, ix, im = tt.lscalar("n"), tt.lscalar("k"), tt.lvector("ix"), tt.lmatrix("im")
    check([x, n, k, ix, im], indices(x, n, k, ix, im), [sample(dtype, (3, 4, 2)), *POSITIONS])


@pytest.mark.parametrize("dtype", REAL)
def test_setting_and_adding_agree_with_numpy(dtype: str) -> None:
    x, m, y = tensor(dtype, 3), tensor(dtype, 2), tensor(dtype, 0)
    n, k, ix, im = tt.lscalar("n"), tt.lscalar("k"), tt.lvector("ix"), tt.lmatrix("im")
    basic = [x[1], x[n], x[::2, ::-1], x[n:, k - 2], x[:, n, ::-1], x[-1:0:-1]]
    advanced = [x[ix], x[:, ix], x[im], x[ix, :, im[0, :1]], x[:, im, 0], x[0, :, im], x[n:, ix, ::-1]]
    outputs = [
        f(part, value) for f in (tt.set_subtensor, tt.inc_subtensor) for part in basic for value in (y, m[:1, :1])
    ]
    outputs += [tt.inc_subtensor(part, y) for part in advanced]
    outputs += [tt.set_subtensor(part, y) for part in (x[ix[:2]], x[:, ix[:2]], x[0, :, im[0]])]
    outputs += [tt.inc_subtensor(x[n, :, ::-1], m.T[:, :2]), tt.inc_subtensor(x[:, ix, 0], m[:, :4])]
    values = [sample(dtype, (3, 4, 2)), sample(dtype, (3, 4), 1), sample(dtype, (), 2), *POSITIONS]
    check([x, m, y, n, k, ix, im], outputs, values)


@pytest.mark.parametrize("dtype", REAL)
def test_shapes_joins_and_products_agree_with_numpy(dtype: str) -> None:
    x, m, v = tensor(dtype, 3), tensor(dtype, 2), tensor(dtype, 1)
    n, k = tt.lscalar("n"), tt.lscalar("k")
    outputs = [
        x.transpose(2, 0, 1), x.dimshuffle(1, "x", 0, 2), x.reshape((x.shape[0] * x.shape[1], -1)), x.reshape((n, -1)),
        tt.concatenate([x, x[::-1]], axis=1), tt.shape(x), x.shape[1], tt.zeros((n, k), dtype=dtype), x.flatten(),
        tt.broadcast_to(v, (n, v.shape[0])), tt.arange(n, k).astype(dtype), tt.arange(k, n, -1), tt.arange(0.0, n, 0.5),
        tt.matmul(x, x.transpose(0, 2, 1)), tt.dot(m, v[: m.shape[1]]), tt.stack([v, v]), tt.sum_to(m * m, m[:1]),
    ]  # fmt: skip
    values = [sample(dtype, (3, 4, 2)), sample(dtype, (2, 3)), sample(dtype, (5,)), np.array(2), np.array(6)]
    if np.dtype(dtype).kind == "f":
        values[:2] = [v / 4 for v in values[:2]]
    check([x, m, v, n, k], outputs, values)


@pytest.mark.parametrize("dtype", ["uint64", "float64"])
def test_indexing_setting_and_reducing_agree_with_numpy_when_compiled(dtype: str) -> None:
    x, m = tensor(dtype, 3), tensor(dtype, 2)
    n, k, ix, im = tt.lscalar("n"), tt.lscalar("k"), tt.lvector("ix"), tt.lmatrix("im")
    outputs = [x[n], x[-1:n:-1], x[:, im, 0], tt.argmax(x, axis=1), tt.max(x), tt.sum(x, axis=0)]
    outputs += [tt.inc_subtensor(x[n, :, ::-1], m.T[:, :2]), tt.set_subtensor(x[ix[:2], :k], m[0, 0])]
    outputs += [tt.inc_subtensor(x[:, ix, 0], m[:, :4])]
    check(
        [x, m, n, k, ix, im], outputs, [sample(dtype, (3, 4, 2)), sample(dtype, (3, 4), 1), *POSITIONS], compiled=True
    )


@pytest.mark.parametrize("position", [3, -4])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_position_out_of_bounds_is_an_index_error_that_names_the_line(position: int, compiled: bool) -> None:
    x, i, ix = tt.dvector("x"), tt.lscalar("i"), tt.lvector("ix")
    program = link([x, i, ix], [x[i] + x[ix], tt.inc_subtensor(x[ix], 1.0)], compiled)
    with pytest.raises(IndexError, match=r"test_structure\.py"):
        program(np.arange(3.0), np.array(0), np.array([0, position]))
    assert program(np.arange(3.0), np.array(2), np.array([0, -3]))[0].tolist() == [2.0, 2.0]


def test_shapes_that_clash_are_value_errors_that_name_the_line() -> None:
    x, y, n = tt.dvector("x"), tt.dvector("y"), tt.lscalar("n")
    values = (np.zeros(3), np.zeros(4), np.array(2))
    for output in (x + y, x.reshape((n, n)), tt.broadcast_to(x, (n,)), tt.zeros((n - 5,)) + 0, tt.sum_to(x, y)):
        with pytest.raises(ValueError, match=r"test_structure\.py"):
            link([x, y, n], [output])(*values)
