"""NumPy's functions, ufuncs and operators on tensors."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.tensor import NumpyFunctionError

# NumPy's stubs know arrays only.
NP: Any = np
VECTOR, MATRIX = np.array([1.0, 2.5, 3.0]), np.arange(6.0).reshape(2, 3)

# Written once, evaluated with arrays and with tensors.
TAKEN = [
    "np.exp(x)",
    "np.add(x, 1)",
    "np.subtract(np.ones(3), x)",
    "np.float64(2) * x",
    "np.int8(2) ** x",
    "x % np.ones(3)",
    "np.ones(3) + x",
    "np.ones(3) @ x",
    "np.eye(2) @ X",
    "np.ones(3) < x",
    "np.less_equal(2, x)",
    "np.equal(np.ones(3), x)",
    "np.exp(x, dtype='float32')",
    "np.add(x, x, out=None, where=True, casting='same_kind')",
    "np.divmod(x, 2)[1]",
    "np.matmul(X, x)",
    "np.rint(x)",
    "np.positive(x)",
    "np.degrees(x)",
    "np.logaddexp(x, 1.0)",
    "np.abs(-x)",
    "np.invert(x > 1)",
    "np.add.reduce(X)",
    "np.add.reduce(X, axis=None)",
    "np.multiply.reduce(X, 1)",
    "np.maximum.reduce(X, axis=(0, 1))",
    "np.minimum.reduce(X, keepdims=True)",
    "np.logical_and.reduce(X > 1, axis=1)",
    "np.logical_or.reduce(X > 1)",
    "np.add.reduce(x, dtype='float32')",
    "np.add.outer(x, X)",
    "np.less.outer(x, [1.0, 2.0])",
    "np.sum(X, 0)",
    "np.sum(X, 1, None, None, True)",
    "np.sum(x, axis=np.int64(0))",
    "np.prod(X, axis=0)",
    "np.mean(X, 0, 'float32')",
    "np.var(X, ddof=1)",
    "np.std(X, 0, correction=1)",
    "np.max(X, axis=1)",
    "np.amin(X)",
    "np.argmax(X, 1)",
    "np.argmin(X, axis=0, keepdims=True)",
    "np.all(X)",
    "np.any(X, axis=1)",
    "np.ptp(X, 0)",
    "np.clip(x, 1.5, 2)",
    "np.clip(x, None, 2)",
    "np.clip(x, min=2)",
    "np.round(x)",
    "np.around(x, 0)",
    "np.fix(x)",
    "np.isposinf(x)",
    "np.where(x > 1, x, 0)",
    "np.copy(x)",
    "np.astype(x, 'int32')",
    "np.concatenate([x, np.ones(2)])",
    "np.concatenate((X, X), 1)",
    "np.concatenate([X, x], axis=None)",
    "np.concatenate([x, x], dtype='float32')",
    "np.stack([x, x], axis=1)",
    "np.stack([x, x], dtype='float32', casting='same_kind')",
    "np.hstack((x, x))",
    "np.vstack([x, X])",
    "np.dot(X, x)",
    "np.outer(x, x)",
    "np.tensordot(X, X, axes=([0], [0]))",
    "np.linalg.outer(x, x)",
    "np.linalg.matmul(X, x)",
    "np.linalg.matrix_transpose(X)",
    "np.linalg.tensordot(X, X, axes=2)",
    "np.transpose(X)",
    "np.permute_dims(X, (1, 0))",
    "np.matrix_transpose(X)",
    "np.swapaxes(X, 0, 1)",
    "np.moveaxis(X, 0, -1)",
    "np.expand_dims(x, (0, 2))",
    "np.squeeze(x[None], 0)",
    "np.atleast_1d(x)",
    "np.atleast_2d(x, X)[0]",
    "np.reshape(X, (3, -1))",
    "np.ravel(X)",
    "np.gradient(X, axis=0)",
    "np.pad(X, 1)",
    "np.split(X, [1], axis=1)[-1]",
    "np.linalg.norm(X)",
    "np.linalg.vector_norm(X, axis=0)",
    "np.linalg.matrix_norm(X)",
    "np.broadcast_to(x, (2, 3))",
    "np.take(X, [0, 2], 1)",
    "np.take(x, 1)",
    "np.zeros_like(X)",
    "np.ones_like(x, dtype='int8')",
    "np.full_like(x, 7)",
    "np.shape(X)",
    "np.size(X)",
    "np.size(X, 1)",
    "np.ndim(X)",
    "np.result_type(x, np.complex64(1))",
    "np.can_cast(x, 'float32')",
    "np.iscomplexobj(x)",
    "np.isrealobj(x)",
    "np.fmax(x, 1)",
    "np.modf(x)[0]",
    "np.round(x, 2)",
    "np.isclose(x, 1.0)",
    "np.nan_to_num(x)",
    "np.unwrap(x)",
    "np.cumsum(X, axis=0)",
    "np.linalg.trace(np.stack([X, X + 1, X + 2], axis=1))",
    "np.linalg.diagonal(np.stack([X, X + 1, X + 2], axis=1), offset=1)",
    "np.linalg.vecdot(X, X)",
    "np.fft.fft(x)",
    "np.fft.rfft(X, n=2, axis=0, norm='ortho')",
    "np.cumulative_sum(x)",
    "np.sort(X, axis=0)",
    "np.diagonal(X, 1)",
    "np.einsum('i,i', x, x)",
    "np.einsum('ij->j', X, optimize=True)",
    "np.add.accumulate(x)",
    "np.maximum.accumulate(X, axis=1)",
    "np.logaddexp.reduce(X, axis=1)",
    "np.meshgrid(x, x, indexing='ij')[0]",
    "np.apply_along_axis(lambda r, k: r[::-1] * k, 1, X, 2)",
    "np.vecdot(X, X)",
    "np.kron(x, x)",
]
REFUSED = [
    ("np.array2string(x)", r"numpy\.array2string: symbolic tensors do not take this function.* no function like it"),
    ("np.fill_diagonal(X, 0)", r"numpy\.fill_diagonal: .* a tensor is not changed"),
    ("np.subtract.accumulate(x)", r"numpy\.subtract\.accumulate: "),
    ("np.bitwise_or.reduce(x > 1)", r"numpy\.bitwise_or\.reduce: "),
    ("np.add.at(v, [0], x)", r"numpy\.add\.at: .* write x\[i\]\.inc\(y\)"),
    ("np.exp(x, out=v)", r"numpy\.exp: the argument out = \(array.*x\[i\]\.set\(y\)"),
    ("np.exp(v, out=x)", r"numpy\.exp: the argument out = \(x,\)"),
    ("np.sum(x, out=v)", r"numpy\.sum: the argument out = "),
    ("np.sin(x, where=v > 1)", r"numpy\.sin: the argument where = .*where\(mask, x, other\)"),
    ("np.add(x, x, dtype='int8')", r"numpy\.add: dtype = 'int8'"),
    ("np.less(x, x, dtype='float32')", r"numpy\.less: dtype = 'float32'"),
    ("np.add(v, x, casting='no')", r"numpy\.add: the argument casting = 'no'"),
]


@pytest.mark.parametrize("text", TAKEN)
def test_function_of_numpy_gives_what_it_gives_of_arrays(text: str) -> None:
    expected = eval(text, {"np": np, "x": VECTOR, "X": MATRIX})
    x, X = tt.dvector("x"), tt.dmatrix("X")  # noqa: N806 - as in the texts
    result: Any = eval(text, {"np": np, "x": x, "X": X})
    if isinstance(result, tt.TensorVariable):
        value = result.eval({x: VECTOR, X: MATRIX}, mode="VM", on_unused_input="ignore")
        assert np.shape(value) == np.shape(expected)
        if isinstance(expected, np.ndarray | np.generic):
            assert value.dtype == expected.dtype
        np.testing.assert_allclose(value, expected, rtol=1e-6)
    else:
        assert result == expected


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_has_no_counterpart_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(NumpyFunctionError, match=f"^{message}"):
        eval(text, {"np": np, "x": tt.dvector("x"), "X": tt.dmatrix("X"), "v": np.ones(3)})


def test_array_plus_assignment_takes_the_symbolic_sum() -> None:
    x = tt.dvector("x")
    for start in (np.ones(3), np.float64(1.0)):
        total: Any = start
        total += x
        assert total.eval({x: VECTOR}, mode="VM").tolist() == [2.0, 3.5, 4.0]
        assert np.all(start == 1.0)


def test_arrays_like_a_tensor_are_tensors() -> None:
    x = tt.dvector("x")
    for tensor in (NP.ones(3, like=x), NP.zeros((3,), like=x), NP.full(3, 2.0, like=x), NP.arange(3, like=x)):
        assert isinstance(tensor, tt.TensorVariable)
        assert tensor.type.shape == (3,)
    assert isinstance(NP.asarray([1, 2], like=x), tt.TensorConstant)


def test_node_of_a_ufunc_names_the_users_line() -> None:
    node = NP.exp(tt.dvector("x")).owner
    assert "NP.exp(tt.dvector" in str(node.user_line)


def test_another_class_with_its_own_meaning_is_asked() -> None:
    class Other:
        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> str:
            return "other"

        def __array_function__(self, *args: Any, **kwargs: Any) -> str:
            return "other"

    x, other = tt.dvector("x"), Other()
    assert [NP.add(x, other), NP.add(other, x), NP.dot(x, other)] == ["other"] * 3


def test_deleting_positions_out_of_bounds_is_refused_by_name() -> None:
    with pytest.raises(tt.IndexingError, match=r"delete: positions .* out of bounds for an axis of length 2"):
        tt.delete(np.zeros(2), [0, 2])
