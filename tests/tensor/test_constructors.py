"""Constructors of input variables."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor import ShapeError, TensorType, TensorTypeError
from treadle.tensor.types.constructors import LETTERS, RANKS, SEVERAL
from treadle.typed_list import TypedListType


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("letter", LETTERS)
def test_typed_constructor_is_the_type_of_what_it_makes(letter: str, rank: str) -> None:
    kind = getattr(tt, letter + rank)
    variable = kind("v")
    assert isinstance(kind, TensorType)
    assert variable.type == kind == TensorType(LETTERS[letter], RANKS[rank])
    assert (variable.name, variable.dtype, variable.type.shape) == ("v", LETTERS[letter], RANKS[rank])
    assert (kind.dtype, kind.ndim) == (LETTERS[letter], len(RANKS[rank]))


def test_typed_constructor_does_what_types_do() -> None:
    assert tt.dvector.filter([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert tt.dvector.make_variable("q").name == "q"
    assert pickle.loads(pickle.dumps(tt.dvector)) is tt.dvector
    assert TypedListType(tt.fvector).ttype == tt.fvector
    assert tt.dvector("x", shape=(3,)).type == tt.dvector(shape=3).type == tt.dvector.clone(shape=(3,))


def test_pattern_of_lengths_of_1_is_a_shape() -> None:
    assert TensorType("float64", broadcastable=(False, True)).shape == (None, 1)
    assert tt.dvector.clone(broadcastable=[True]).shape == (1,)
    with pytest.raises(TensorTypeError, match="one of shape and broadcastable is needed"):
        TensorType("float64", (None,), broadcastable=(True,))


@pytest.mark.parametrize("name", SEVERAL)
def test_one_letter_alone_makes_one_variable(name: str) -> None:
    make = getattr(tt, name)
    assert make("e").name == "e"
    assert [v.name for v in make(["e"])] == ["e"]
    assert [v.name for v in make(1)] == [None]
    assert make() == []


def test_untyped_constructor_has_the_default_dtype() -> None:
    assert tt.matrix().dtype == "float64"
    with config.change_flags(floatX="float32"):
        assert tt.matrix().dtype == "float32"


def test_shape_can_be_given() -> None:
    assert tt.matrix("x", shape=(None, 3)).type.shape == (None, 3)
    assert tt.tensor("x", dtype="int8", shape=(2,)).type is tt.TensorType("int8", (2,))


@pytest.mark.parametrize("shape", [(3,), [3], 3, np.int64(3), np.array([3]), range(3, 4)], ids=repr)
def test_a_shape_is_any_sequence_of_lengths(shape: Any) -> None:
    assert tt.vector(shape=shape).type.shape == TensorType("float64", shape).shape == (3,)


@pytest.mark.parametrize("name", SEVERAL)
def test_every_constructor_of_several_is_public(name: str) -> None:
    assert name in tt.__all__
    assert [v.name for v in getattr(tt, name)("xys")] == ["x", "y", "s"]


@pytest.mark.parametrize("rank", [6, 7])
def test_six_and_seven_dimensions_have_constructors(rank: int) -> None:
    assert getattr(tt, f"dtensor{rank}")("x").type.shape == (None,) * rank
    assert [v.ndim for v in getattr(tt, f"itensor{rank}s")(2)] == [rank, rank]


@pytest.mark.parametrize("number", [2, np.int64(2), np.array(2)], ids=repr)
def test_several_variables_are_counted_by_any_integer(number: Any) -> None:
    assert [v.name for v in tt.scalars(number)] == [None, None]


def test_several_variables_take_a_list_of_names() -> None:
    assert [v.name for v in tt.scalars(["mu", "x1"])] == ["mu", "x1"]


@pytest.mark.parametrize("names", ["x y", "x1", "", -1, 10**9, True, 2.0, ["x", 3]], ids=repr)
def test_value_that_does_not_name_variables_is_refused(names: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^(scalars|Variable): .*, got "):
        tt.scalars(names)


@pytest.mark.parametrize("dtype", ["int64", "floatX", "bool"])
def test_dtype_in_place_of_the_name_is_refused(dtype: str) -> None:
    with pytest.raises(ValueError, match=f"^tensor: the name '{dtype}' is that of a dtype"):
        tt.tensor(dtype, shape=(None,))
    assert tt.tensor("a", dtype=dtype, shape=()).name == "a"


@pytest.mark.parametrize("make", [lambda: tt.row(shape=(5, None)), lambda: tt.dcol("c", shape=[5, 4])])
def test_rows_and_columns_keep_their_1(make: Callable[[], Any]) -> None:
    with pytest.raises(ShapeError, match=r"^(row|dcol): a shape that fits \((1, None|None, 1)\) is needed, got \(5, "):
        make()
    assert tt.row(shape=(1, 5)).type.shape == (1, 5)


@pytest.mark.parametrize("make", [lambda n: TensorType("float64", (1,) * n), lambda n: tt.tensor(ndim=n)])
def test_rank_ends_where_that_of_arrays_does(make: Callable[[int], Any]) -> None:
    make(64)
    with pytest.raises(ShapeError, match="64 dimensions at most, as NumPy's arrays do, got 65"):
        make(65)


@pytest.mark.parametrize("shape", ["ab", {2, 3}, {2: 3}, (2.0,), (-1,), (2**63,), ("a",), 2.5, object], ids=repr)
def test_value_that_is_not_a_shape_is_refused(shape: Any) -> None:
    with pytest.raises(TensorTypeError, match=r"^TensorType: (the shape|each dimension) must be .*, got "):
        TensorType("float64", shape)


@pytest.mark.parametrize("dtype", [None, 0, "", "object", "<U3", "M8[s]", object, tt.vector(), [1]], ids=repr)
def test_value_that_is_not_a_dtype_is_refused(dtype: Any) -> None:
    with pytest.raises(TensorTypeError, match=r"^TensorType: the dtype must be one of .*, got "):
        TensorType(dtype, ())


def test_several_variables_by_names_or_number() -> None:
    assert [v.name for v in tt.vectors("x", "y")] == ["x", "y"]
    assert [v.ndim for v in tt.matrices(3)] == [2, 2, 2]
    assert {v.dtype for v in SEVERAL["lscalars"]("i", "j")} == {"int64"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "shape or ndim is needed"),
        ({"shape": (2,), "ndim": 3}, "Give one of the two"),
    ],
)
def test_wrong_argument_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TensorTypeError, match=message):
        tt.tensor(**arguments)


def test_name_that_is_not_text_is_refused() -> None:
    with pytest.raises(TypeError, match="name must be a string, got 3"):
        tt.tensor(3, ndim=1)  # type: ignore[arg-type]  # that is the point


def test_shape_of_another_rank_is_refused() -> None:
    with pytest.raises(TensorTypeError, match="matrix: a shape with 2 dimensions"):
        tt.matrix(shape=(3,))


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8"])
def test_triangles_beyond_the_matrix_do_not_wrap_around(mode: str, dtype: str) -> None:
    k, m = tt.scalar("k", dtype=dtype), tt.dmatrix("m")
    outs = [tt.tri(3, 4, k), tt.tril(m, k), tt.triu(m, k), *tt.tril_indices(3, k, 4), *tt.triu_indices(3, k, 4)]
    f = function([k, m], outs, mode=mode)
    value = np.arange(1.0, 13.0).reshape(3, 4)
    limits = np.iinfo(dtype)
    for number in {
        limits.max,
        limits.max - 2,
        limits.min,
        limits.min + 2,
        0,
        1,
        4,
        *(() if dtype[0] == "u" else (-1, -3)),
    }:
        near = max(min(number, 100), -100)
        expected = [
            np.tri(3, 4, near), np.tril(value, near), np.triu(value, near),
            *np.tril_indices(3, near, 4), *np.triu_indices(3, near, 4),
        ]  # fmt: skip
        for triangle, wanted in zip(f(number, value), expected, strict=True):
            np.testing.assert_array_equal(triangle, wanted, err_msg=str(number))


def test_triangles_by_huge_constants_do_not_wrap_around() -> None:
    value = np.ones((3, 4))
    for number, near in ((2**63 - 1, 100), (-(2**63), -100), (2**63, 100)):
        np.testing.assert_array_equal(tt.tri(3, 3, number).eval(), np.tri(3, 3, near))
        np.testing.assert_array_equal(tt.triu(value, number).eval(), np.triu(value, near))
        np.testing.assert_array_equal(tt.tril_indices(3, number)[0].eval(), np.tril_indices(3, near)[0])
