"""Einstein summation and related products, against NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import DtypeError, MatMul, ShapeError, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

_RNG = np.random.default_rng(0)
_CASES: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    (
        "ij,jk->ik",
        (
            (2, 3),
            (3, 4),
        ),
    ),
    (
        "ij,jk->ki",
        (
            (2, 3),
            (3, 4),
        ),
    ),
    (
        "ij,kj",
        (
            (2, 3),
            (4, 3),
        ),
    ),
    ("ii", ((3, 3),)),
    ("iij->j", ((3, 3, 4),)),
    ("iii->i", ((3, 3, 3),)),
    ("ij->", ((2, 3),)),
    ("ba", ((2, 3),)),
    (
        "i,j->ij",
        (
            (2,),
            (3,),
        ),
    ),
    (
        "i,i",
        (
            (3,),
            (3,),
        ),
    ),
    (
        ",",
        (
            (),
            (),
        ),
    ),
    (
        "bij,bij->b",
        (
            (2, 3, 4),
            (2, 3, 4),
        ),
    ),
    (
        "bij,bij->bi",
        (
            (2, 3, 4),
            (2, 3, 4),
        ),
    ),
    (
        "zij,zijk->zk",
        (
            (2, 3, 4),
            (2, 3, 4, 5),
        ),
    ),
    (
        "ijk,jil->kl",
        (
            (3, 4, 5),
            (4, 3, 2),
        ),
    ),
    (
        "bhqd,bhkd->bhqk",
        (
            (2, 3, 4, 5),
            (2, 3, 6, 5),
        ),
    ),
    (
        "...ij,...jk",
        (
            (5, 2, 3, 4),
            (2, 4, 5),
        ),
    ),
    (
        "i...,...j->i...j",
        (
            (2, 3),
            (3, 4),
        ),
    ),
    ("b...->...b", ((2, 3, 4),)),
    (
        "ij,jk,kl->li",
        (
            (2, 30),
            (30, 4),
            (4, 5),
        ),
    ),
    (
        "abc,abd,acd->bcd",
        (
            (2, 3, 4),
            (2, 3, 5),
            (2, 4, 5),
        ),
    ),
    (
        "ij,ij,ij->ij",
        (
            (2, 3),
            (2, 3),
            (2, 3),
        ),
    ),
)


def _array(shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
    x = _RNG.normal(size=shape) * 3
    return (x + 1j * _RNG.normal(size=shape)).astype(dtype) if dtype.startswith("c") else x.astype(dtype)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "complex128"])
def test_einsum_is_that_of_numpy_in_values_dtypes_and_shapes(dtype: str, known: bool) -> None:
    inputs, outputs, arrays, expected = [], [], [], []
    for subscripts, shapes in _CASES:
        operands = [_array(shape, dtype) for shape in shapes]
        variables = [tt.tensor(dtype=dtype, shape=s if known else (None,) * len(s)) for s in shapes]
        inputs += variables
        arrays += operands
        outputs.append(tt.einsum(subscripts, *variables))
        expected.append(np.einsum(subscripts, *operands))
    f = function(inputs, outputs, mode="VM")
    for (subscripts, _), out, actual, wanted in zip(_CASES, outputs, f(*arrays), expected, strict=True):
        assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape), subscripts
        assert not known or out.type.shape == wanted.shape, subscripts
        np.testing.assert_allclose(actual, wanted, rtol=1e-10, atol=1e-10, err_msg=subscripts)


def _check(result: tt.TensorVariable, expected: np.ndarray | float) -> None:
    value = result.eval()
    wanted = np.asarray(expected)
    assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(value, wanted, atol=1e-12)


def test_einsum_takes_lists_of_labels() -> None:
    x, y = _array((2, 3)), _array((3, 4))
    _check(tt.einsum(x, [0, 1], y, [1, 2], [0, 2]), x @ y)
    _check(tt.einsum(x, [0, 1], y, [1, 2]), x @ y)
    _check(tt.einsum(x, [0, ...], [..., 0]), x.T)


@pytest.mark.parametrize("optimize", [True, False, None, "greedy", ["einsum_path", (1, 2), (0, 1)], [(0, 1, 2)]])
def test_einsum_multiplies_in_any_order(optimize: object) -> None:
    x, y = _array((2, 3)), _array((3, 4))
    _check(tt.einsum("ij,jk,kl->il", x, y, y.T, optimize=optimize), x @ y @ y.T)


def test_lengths_of_one_broadcast_in_einsum() -> None:
    _check(tt.einsum("ij,jk", np.ones((2, 1)), np.ones((3, 4))), np.full((2, 4), 3.0))
    _check(tt.einsum("...i,i", np.ones((4, 1)), np.ones(3)), np.full(4, 3.0))


def test_einsum_of_two_matrices_is_one_matmul() -> None:
    x, y = tt.dmatrices("xy")
    out = tt.einsum("ij,jk->ik", x, y)
    assert out.owner is not None
    assert out.owner.op == MatMul()
    assert list(out.owner.inputs) == [x, y]


def test_known_lengths_decide_the_order_of_products() -> None:
    x, y, z = (tt.tensor(dtype="float64", shape=s) for s in ((2, 100), (100, 100), (100, 3)))
    out = tt.einsum("ij,jk,kl->il", x, y, z)
    node = out.owner
    assert node is not None
    assert {2, 3} == set(out.type.shape)
    sizes = sorted(v.type.shape for v in node.inputs)
    assert sizes in ([(2, 100), (100, 3)], [(3, 100), (100, 2)])


def test_where_lengths_are_unknown_the_order_needs_least_if_all_are_alike() -> None:
    x, y, z = tt.dmatrix("x"), tt.dtensor3("y"), tt.dmatrix("z")
    out = tt.einsum("ij,jkl,kl->il", x, y, z)
    assert out.owner is not None
    assert isinstance(out.owner.op, MatMul)
    assert x in out.owner.inputs


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij", [(3,)]),
        ("i", [(2, 3)]),
        ("i,j", [(3,)]),
        ("i.j", [(2, 3)]),
        ("i1", [(2, 3)]),
        ("ij->k", [(2, 3)]),
        ("ij->iij", [(2, 3)]),
        ("...i->i", [(2, 3)]),
        ("i,i", [(2,), (3,)]),
        ("ii", [(2, 3)]),
        ("i", []),
    ],
)
def test_subscripts_that_do_not_fit_are_refused(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(ShapeError, match=r"^einsum: "):
        tt.einsum(subscripts, *(np.ones(shape) for shape in shapes))


def test_a_path_that_does_not_fit_is_refused() -> None:
    x = np.ones((2, 2))
    for optimize in ("fastest", [(0, 5)], [(0, 1)]):
        with pytest.raises(TensorTypeError, match=r"^einsum: "):
            tt.einsum("ij,jk,kl", x, x, x, optimize=optimize)


_C = [_array(shape, "complex128") for shape in ((2, 3), (4, 2, 3), (3,), (2, 3, 4))]
_D = [_array(shape) for shape in ((5, 2, 3, 4), (5, 3, 4, 6))]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: tt.vecdot(_C[0], _C[1]), lambda: np.vecdot(_C[0], _C[1])),
        (lambda: tt.vecdot(_C[0], _C[0], axis=0), lambda: np.vecdot(_C[0].T, _C[0].T)),
        (lambda: tt.matvec(_C[1], _C[2]), lambda: np.matvec(_C[1], _C[2])),
        (lambda: tt.vecmat(_C[0], _C[3]), lambda: np.vecmat(_C[0], _C[3])),
        (lambda: tt.inner(_C[0], _C[1]), lambda: np.inner(_C[0], _C[1])),
        (lambda: tt.inner(2.0, _C[1]), lambda: np.inner(2.0, _C[1])),
        (lambda: tt.vdot(_C[0], _C[0]), lambda: np.vdot(_C[0], _C[0])),
        (lambda: tt.matmul(_C[0].real, _C[3].real, "float32"), lambda: np.matmul(_C[0].real, _C[3].real, dtype="f4")),
        (lambda: tt.kron(_C[0], _C[2]), lambda: np.kron(_C[0], _C[2])),
        (lambda: tt.kron(_C[2], _C[1]), lambda: np.kron(_C[2], _C[1])),
        (lambda: tt.cross(_C[0], _C[1], axisc=0), lambda: np.cross(_C[0], _C[1], axisc=0)),
        (lambda: tt.multi_dot([_C[0], _C[0].T, _C[0]]), lambda: _C[0] @ _C[0].T @ _C[0]),
        (lambda: tt.multi_dot([_C[2], _C[0].T, _C[0][:, 0]]), lambda: _C[2] @ _C[0].T @ _C[0][:, 0]),
        (lambda: tt.batched_dot(_D[0][..., 0], _D[1][:, 0, 1:4]), lambda: _D[0][..., 0] @ _D[1][:, 0, 1:4]),
        (lambda: tt.batched_dot(_D[0][:, 0, 0], _D[1][:, 0]), lambda: np.vecmat(_D[0][:, 0, 0], _D[1][:, 0])),
        (lambda: tt.batched_dot(_D[0][:, 0, 0, 0], _D[1]), lambda: _D[0][:, 0, 0, 0, None, None, None] * _D[1]),
        (lambda: tt.batched_tensordot(_D[0], _D[1]), lambda: np.einsum("bijk,bjkl->bil", *_D)),
        (lambda: tt.batched_tensordot(_D[0], _D[1], axes=((3, 2), (2, 1))), lambda: np.einsum("bijk,bjkl->bil", *_D)),
        (lambda: tt.batched_tensordot(_D[0], _D[1], axes=(2, 1)), lambda: np.einsum("bijk,bjml->bikml", *_D)),
    ],
)
def test_products_are_those_of_numpy(
    build: Callable[[], tt.TensorVariable], expected: Callable[[], np.ndarray]
) -> None:
    _check(build(), expected())


@pytest.mark.parametrize("lengths", [(3, 3), (2, 3), (3, 2)])
def test_cross_products_take_two_components(lengths: tuple[int, int]) -> None:
    a, b = _array((4, lengths[0])), _array((4, lengths[1]))
    wide = [np.pad(v, ((0, 0), (0, 3 - v.shape[1]))) for v in (a, b)]
    _check(tt.cross(a, b), np.cross(wide[0], wide[1]))


def test_cross_product_of_unknown_lengths_is_that_of_three_components() -> None:
    x = tt.dmatrix("x")
    value = np.arange(12.0).reshape(3, 4)
    product = tt.cross(x[:, :3], x[:, 1:]).eval({x: value}, mode="VM")
    np.testing.assert_array_equal(product, np.cross(value[:, :3], value[:, 1:]))
    with pytest.raises(ValueError, match="3"):
        tt.cross(x, x).eval({x: value}, mode="VM")


def test_cross_product_in_the_plane_is_a_number() -> None:
    a, b = _array((2, 4)), _array((2, 4))
    _check(tt.cross(a, b, axis=0), a[0] * b[1] - a[1] * b[0])


def test_products_name_what_does_not_fit() -> None:
    x, y = np.ones((2, 3)), np.ones((3, 4))
    cases: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: tt.vecdot(x, y), "vecdot"),
        (lambda: tt.inner(x, y), "inner"),
        (lambda: tt.batched_dot(x, y), "batched_dot"),
        (lambda: tt.matvec(x[0], x), "matvec"),
        (lambda: tt.multi_dot([x]), "multi_dot"),
    )
    for call, name in cases:
        with pytest.raises(ShapeError, match=rf"^{name}: "):
            call()
    with pytest.raises(DtypeError, match=r"^matmul: "):
        tt.matmul(x, y, dtype="int64")
