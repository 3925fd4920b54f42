"""Functions that create, cut, repeat, pad and rearrange tensors agree with NumPy's, dtypes included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import treadle.tensor as treadle_tensor
from treadle.compile import function
from treadle.tensor import ShapeError, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    # Takes a library (treadle's functions or NumPy) and operands.
    Case = Callable[[Any, "Operands"], Any]

# The operands of both: NumPy's types do not know tensors.
tt: Any = treadle_tensor
RNG = np.random.default_rng(7)
MATRIX, CUBE, VECTOR, NUMBER = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 4)), RNG.normal(size=5), np.int64(3)


class Operands(NamedTuple):
    """A matrix, a cube, a vector and a number: tensors or arrays."""

    m: Any
    c: Any
    v: Any
    n: Any


CREATED: list[Case] = [
    *(lambda xp, a, k=k: (xp.tri(3, 5, k), xp.tril(a.c, k), xp.triu(a.m, k)) for k in (-2, 0, 1, 7)),
    *(lambda xp, a, k=k: xp.tril_indices_from(a.m, k) + xp.triu_indices(4, k, 5) for k in (-2, 0, 3)),
    lambda xp, a: xp.triu_indices(a.n, -1) + xp.tril_indices(a.n, 1, 5),
    *(
        lambda xp, a, ends=ends, num=num: (
            xp.linspace(1.0, 3.0, num, ends),
            *xp.linspace(a.v, 2.5, num, ends, retstep=True),
            xp.logspace(a.v, 1.5, num, ends),
            xp.geomspace(abs(a.v) + 1, 2.0, num, ends),
            xp.geomspace(-1.0, -8.0, num, ends),
        )
        for ends in (True, False)
        for num in (0, 1, 5)
    ),
    lambda xp, a: (xp.linspace(-3, 10, 7, dtype="int32"), xp.linspace(0, 5e-324, 4), xp.linspace(a.m, a.v[:4], a.n)),
    lambda xp, _: (xp.logspace(0, 3, 4, base=np.array([2.0, 3.0]), axis=-1), xp.geomspace(1j, -8.0, 4)),
    *(
        lambda xp, a, how=how, sparse=sparse: xp.meshgrid(a.v, a.m[0], a.n, indexing=how, sparse=sparse)
        for how in ("xy", "ij")
        for sparse in (True, False)
    ),
    lambda xp, _: (xp.mgrid[0:3, 1:5:2], *xp.ogrid[0:3:0.5, 1:5:2], xp.mgrid[0:3:4j, 0:2], xp.mgrid[-1:1:5j]),
    lambda xp, a: (xp.vander(a.v, 4), xp.vander(a.v, 3, True), xp.vander(a.v, 0)),
    lambda xp, a: tuple(xp.diag(a.v, k) for k in (-2, 0, 1)) + tuple(xp.diag(a.m, k) for k in (-5, -1, 2)),
    lambda xp, a: (xp.diagonal(a.c, 1, 2, 0), xp.trace(a.c, -1, 1, 2), xp.diagflat(a.m, 1), xp.trace(a.m > 0)),
]  # fmt: skip
MOVED: list[Case] = [
    *(lambda xp, a, k=k: (xp.rot90(a.m, k), xp.rot90(a.c, k, (2, 1))) for k in range(-1, 4)),
    lambda xp, a: (xp.flip(a.c), xp.flip(a.c, (0, -1)), xp.fliplr(a.m), xp.flipud(a.m)),
    *(lambda xp, a, at=at: tuple(xp.rollaxis(a.c, at, to) for to in range(-3, 4)) for at in range(-3, 3)),
    *(
        lambda xp, a, by=by, axis=axis: xp.roll(a.c, by, axis)
        for by in (0, -1, 7)
        for axis in (None, 0, -1, (0, 1), (1, 1))
    ),
    lambda xp, a: (xp.roll(a.c, (1, 2), (0, 2)), xp.roll(a.m, -a.n, 1), xp.roll(a.m, 5 * a.n)),
    lambda xp, a: xp.roll(a.m[:0], a.n, 0),
    *(lambda xp, a, by=by: (xp.repeat(a.m, by), xp.repeat(a.c, by, -1)) for by in (0, 1, 3)),
    lambda xp, a: (xp.repeat(a.m, [1, 0, 2], axis=0), xp.repeat(a.n, 3)),
    *(
        lambda xp, a, by=by: (xp.tile(a.n, by), xp.tile(a.v, by), xp.tile(a.m, by), xp.tile(a.c, by))
        for by in (2, 0, (2, 1), (3, 1, 2, 2), ())
    ),
    lambda xp, a: (xp.resize(a.m, (5, 3)), xp.resize(a.m, 7), xp.resize(a.m, (0, 3))),
    lambda xp, a: (xp.atleast_1d(a.n), xp.atleast_2d(a.v), *(xp.atleast_3d(x) for x in (a.n, a.v, a.m, a.c))),
    lambda xp, a: (xp.block([[a.m, a.m], [a.v[:4], a.v[1:]]]), xp.block([1.0, a.v]), xp.column_stack([a.v[:3], a.m])),
    lambda xp, a: (xp.dstack([a.m, a.m]), xp.vstack([a.v, a.v])),
    lambda xp, a: (xp.concatenate([a.m, a.c], axis=None, dtype="float32"),),
    lambda xp, a: (*xp.array_split(a.c, 3, axis=2), *xp.array_split(a.v, [-2, 3]), *xp.hsplit(a.m, 2)),
    lambda xp, a: (*xp.vsplit(a.m, [1]), *xp.dsplit(a.c, 4), xp.ravel(a.m, "F"), xp.size(a.m, 1)),
    lambda xp, a: (*xp.broadcast_arrays(a.m, a.v[:4], a.n), *xp.broadcast_shapes((3, 1), (1, 4), a.m.shape)),
]  # fmt: skip
STATISTICS = ("maximum", "mean", "median", "minimum")
PADDED: list[Case] = [
    *(
        lambda xp, a, how=how: (
            *(xp.pad(a.m, width, how) for width in (1, (1, 2), ((1, 2), (0, 3)), ((9, 11), (8, 13)))),
            xp.pad(a.v[:1], (3, 4), how),
            xp.pad(a.c, ((1, 0), (0, 2), (3, 1)), how),
            xp.pad(a.m, {-1: (1, 2)}, how),
            xp.pad(a.v.astype("int8"), (3, 4), how),
        )
        for how in (*STATISTICS, "constant", "edge", "linear_ramp", "reflect", "symmetric", "wrap")
    ),
    *(
        lambda xp, a, how=how: tuple(xp.pad(a.m, 2, how, stat_length=k) for k in (1, (2, 3), ((1, 2), (3, 9))))
        for how in STATISTICS
    ),
    *(
        lambda xp, a, how=how: tuple(xp.pad(a.m, width, how, reflect_type="odd") for width in (1, (2, 9), 13))
        for how in ("reflect", "symmetric")
    ),
    lambda xp, a: (xp.pad(a.m, 2, constant_values=((1, 2), (3, 4))), xp.pad(a.v, a.n, "wrap"), xp.pad(a.m, 0)),
    lambda xp, a: (xp.pad(a.m, 3, "linear_ramp", end_values=((1, 2), (3, 4))), xp.pad(a.v, a.n, constant_values=a.n)),
]  # fmt: skip


@pytest.mark.parametrize("cases", [CREATED, MOVED, PADDED], ids=["created", "moved", "padded"])
def test_results_are_those_of_numpy(cases: list[Case]) -> None:
    arrays = Operands(MATRIX, CUBE, VECTOR, NUMBER)
    inputs = Operands(tt.dmatrix("m"), tt.dtensor3("c"), tt.dvector("v"), tt.lscalar("n"))
    variables: list[Any] = []
    expected: list[Any] = []
    for case in cases:
        built, wanted = case(tt, inputs), case(np, arrays)
        many = isinstance(wanted, tuple | list)
        variables += built if many else [built]
        expected += wanted if many else [wanted]
    run = function(inputs, variables, mode="VM", on_unused_input="ignore")
    for variable, result, wanted in zip(variables, run(*arrays), map(np.asarray, expected), strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        assert all(n is None or n == m for n, m in zip(variable.type.shape, wanted.shape, strict=True))
        np.testing.assert_allclose(result, wanted, rtol=1e-12, atol=1e-13)


def test_lengths_of_parts_and_numbers_of_parts_are_told_apart() -> None:
    x = tt.dvector("x")
    value = np.arange(6.0)
    sizes, equal, cuts = tt.split(x, [1, 2, 3]), tt.split(x, 3), tt.split(x, indices_or_sections=[1, 3])
    parts = function([x], [*sizes, *equal, *cuts], mode="VM")(value)
    for result, wanted in zip(
        parts, [*np.split(value, [1, 3]), *np.split(value, 3), *np.split(value, [1, 3])], strict=True
    ):
        np.testing.assert_array_equal(result, wanted)


def test_parts_that_do_not_add_up_are_refused_when_the_program_runs() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    run = function([x, n], tt.split(x, [n, 5 - n]), mode="VM")
    assert [len(part) for part in run(np.ones(5), 2)] == [2, 3]
    for value, at in ((np.ones(6), 2), (np.ones(5), -1)):
        with pytest.raises(ValueError, match="SpecifyShape"):
            run(value, at)


def test_what_was_packed_is_unpacked() -> None:
    x, y = tt.dmatrix("x"), tt.dtensor3("y")
    packed, shapes = tt.pack(x, y, keep_axes=-1)
    back = tt.unpack(packed, shapes, keep_axes=-1)
    results = function([x, y], [packed, *back], mode="VM")(MATRIX, CUBE)
    assert results[0].shape == (9, 4)
    np.testing.assert_array_equal(results[1], MATRIX)
    np.testing.assert_array_equal(results[2], CUBE)


def test_numbers_that_shape_the_result_may_be_symbolic() -> None:
    x, shifts, k = tt.dmatrix("x"), tt.lvector("shifts"), tt.lscalar("k")
    row = x[0]
    results = [tt.roll(x, shifts, axis=(0, 1)), tt.eye(3, k=k), tt.vander(row), tt.vander(row, increasing=True)]
    value = np.arange(12.0).reshape(3, 4)
    values = function([x, shifts, k], results, mode="VM")(value, [1, -2], -1)
    wanted = [np.roll(value, (1, -2), axis=(0, 1)), np.eye(3, k=-1), np.vander(value[0]), np.vander(value[0]).T[::-1].T]
    for ours, theirs in zip(values, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_reshape_takes_the_order_of_fortran() -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    value = np.arange(12.0).reshape(3, 4)
    reshaped = function([x, n], [tt.reshape(x, (n, -1, 2), order="F"), np.reshape(x, 12, order="F")], mode="VM")(
        value, 3
    )
    np.testing.assert_array_equal(reshaped[0], np.reshape(value, (3, 2, 2), order="F"))
    np.testing.assert_array_equal(reshaped[1], np.reshape(value, 12, order="F"))


def test_what_is_like_a_tensor_may_have_another_shape() -> None:
    x, n = tt.fmatrix("x"), tt.lscalar("n")
    results = [tt.zeros_like(x, shape=n), tt.ones_like(x, shape=(2, n)), tt.full_like(x, 2.5, "int8", shape=(n, 0))]
    for array, wanted in zip(
        function([n], results, mode="VM")(3),
        [np.zeros(3, "f"), np.ones((2, 3), "f"), np.full((3, 0), 2, "int8")],
        strict=True,
    ):
        assert array.dtype == wanted.dtype
        np.testing.assert_array_equal(array, wanted)


def test_a_filled_diagonal_is_numpys() -> None:
    for shape, wrap in (((7, 3), False), ((7, 3), True), ((3, 7), True), ((3, 3, 3), False)):
        value = RNG.normal(size=shape)
        x = tt.tensor("x", dtype="float64", shape=(None,) * len(shape))
        (filled,) = function([x], [tt.fill_diagonal(x, [1.0, 2.0], wrap)], mode="VM")(value)
        np.fill_diagonal(value, [1.0, 2.0], wrap)
        np.testing.assert_array_equal(filled, value)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda _: tt.diag(tt.dtensor3()), TensorTypeError, "diag: a vector or a matrix is needed"),
        (lambda x: tt.diagonal(x, axis1=1), ValueError, "diagonal: two different axes"),
        (lambda x: tt.repeat(x, -1), ShapeError, "repeat: the numbers of repetitions must be 0 or more"),
        (lambda x: tt.repeat(x, 1.5), TensorTypeError, "repeat: repeats must be integers"),
        (lambda _: tt.broadcast_shapes((3,), (4,)), ShapeError, "objects cannot be broadcast to a single shape"),
        (lambda _: tt.linspace(0, 1, -1), ShapeError, "linspace: num must be 0 or more"),
        (lambda _: tt.geomspace(0, 1), ShapeError, "geomspace: a geometric sequence cannot include zero"),
        (lambda _: tt.split(tt.tensor(shape=(6,)), 4), ShapeError, "does not result in an equal division"),
        (lambda _: tt.split(tt.tensor(shape=(6,)), [2, 3]), ShapeError, "do not make up dimension 0"),
        (lambda _: tt.eye(1.5), TensorTypeError, "eye"),
        (lambda _: tt.eye(2, k=1.5), TensorTypeError, "eye: k must be an integer"),
        (lambda x: tt.split(x, tt.lvector()), TensorTypeError, "split: a shape of known length is needed"),
        (lambda x: tt.pad(x, -1), ShapeError, "pad: pad_width can't contain negative values"),
        (lambda x: tt.pad(x, 1, "edge", constant_values=3), ShapeError, "pad: unsupported keyword arguments"),
        (lambda x: tt.pad(x, 1, lambda *_: None), TensorTypeError, "pad: the mode must be one of NumPy's"),
        (lambda _: tt.pad(tt.tensor(shape=(0, 3)), 1, "wrap"), ShapeError, "can't extend empty axis 0"),
        (lambda x: tt.block([x, [x]]), ShapeError, "nested to one depth"),
        (lambda x: tt.join_dims(x, 1, 2), ValueError, "join_dims: there are no 2 axes from axis 1"),
        (tt.unstack, ShapeError, "unstack: the length of axis 0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tt.dmatrix("x"))
