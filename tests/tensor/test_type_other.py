"""None and slices as values of graphs."""

import pickle
from collections.abc import Sequence

import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, Cell, Constant, Op, Value, Variable
from treadle.tensor import NoneConst, NoneSliceConst, SliceType, slicetype


class Cut(Op):
    __props__ = ()

    def make_node(self, *inputs: Variable) -> Apply:
        x, _ = inputs
        return Apply(self, list(inputs), [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        output_storage[0][0] = inputs[0][inputs[1]].copy()


def test_slice_is_an_argument_of_a_function() -> None:
    x, s = tt.dvector("x"), slicetype("s")
    cut = function([x, s], Cut()(x, s))
    assert cut([1.0, 2.0, 3.0], slice(1, None)).tolist() == [2.0, 3.0]


def test_slice_that_is_known_is_a_constant() -> None:
    x = tt.dvector("x")
    cut = function([x], Cut()(x, slicetype.make_constant(slice(0, 2))))
    assert cut([1.0, 2.0, 3.0]).tolist() == [1.0, 2.0]
    assert str(NoneSliceConst) == "slice(None, None, None)"


@pytest.mark.parametrize("constant", [NoneConst, NoneSliceConst])
def test_constants_pickle_and_equal_themselves(constant: Constant) -> None:
    assert pickle.loads(pickle.dumps(constant)).equals(constant)


@pytest.mark.parametrize("value", [3, slice(1.5), slice(tt.lscalar())])
def test_value_that_is_not_a_slice_of_integers_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="SliceType"):
        SliceType().filter(value)


def test_only_none_is_of_the_type_of_none() -> None:
    assert NoneConst.type == tt.NoneTypeT()
    with pytest.raises(TypeError, match="None is the only value"):
        NoneConst.type.filter(3)
