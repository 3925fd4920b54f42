"""Constructors of input variables."""

from typing import Any

import pytest

import treadle.tensor as tt
from treadle.config import config
from treadle.tensor import TensorTypeError
from treadle.tensor.constructors import LETTERS, RANKS, SEVERAL, SINGLE


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("letter", LETTERS)
def test_typed_constructor_makes_its_type(letter: str, rank: str) -> None:
    made = SINGLE[letter + rank]("v")
    assert (made.name, made.dtype, made.type.shape) == ("v", LETTERS[letter], RANKS[rank])


def test_untyped_constructor_has_the_default_dtype() -> None:
    assert tt.matrix().dtype == "float64"
    with config.change_flags(floatX="float32"):
        assert tt.matrix().dtype == "float32"


def test_shape_can_be_given() -> None:
    assert tt.matrix("x", shape=(None, 3)).type.shape == (None, 3)
    assert tt.tensor("x", dtype="int8", shape=(2,)).type is tt.TensorType("int8", (2,))


def test_several_variables_by_names_or_number() -> None:
    assert [v.name for v in tt.vectors("x", "y")] == ["x", "y"]
    assert [v.ndim for v in tt.matrices(3)] == [2, 2, 2]
    assert {v.dtype for v in SEVERAL["lscalars"]("i", "j")} == {"int64"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "shape or ndim is needed"),
        ({"shape": (2,), "ndim": 3}, "Give one of the two"),
    ],
)
def test_wrong_argument_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TensorTypeError, match=said):
        tt.tensor(**arguments)


def test_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="name must be a string, got 3"):
        tt.tensor(3, ndim=1)  # type: ignore[arg-type]  # that is the point


def test_shape_of_another_rank_is_refused() -> None:
    with pytest.raises(TensorTypeError, match="matrix: a shape with 2 dimensions"):
        tt.matrix(shape=(3,))
