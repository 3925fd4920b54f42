"""Ops that build their own graphs, and graphs between nominal variables."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Constant, MissingInputError, Variable, shared, vectorize_graph
from treadle.graph.basic import AtomicVariable, NominalVariable
from treadle.tensor import SymbolicOp, construct_nominal_fgraph
from treadle.tensor.embedding.symbolic_op import infer_shape


class Power(SymbolicOp):
    """A power and the next one."""

    __props__ = ("exponent",)

    def __init__(self, exponent: int) -> None:
        self.exponent = exponent
        super().__init__()

    def build_inner_graph(self, *inputs: Any) -> list[Variable]:
        (x,) = inputs
        return [x**self.exponent, x ** (self.exponent + 1)]


class Doubled(SymbolicOp):
    """The identity, with twice its gradient."""

    def build_inner_graph(self, *inputs: Any) -> Variable:
        output: Variable = inputs[0] * 1
        return output

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Any]
    ) -> Sequence[Variable | None]:
        return [cotangents[0] * 2]


@pytest.mark.parametrize("mode", ["VM", "FAST_RUN"])
def test_graph_is_built_for_the_inputs_at_hand(mode: str) -> None:
    x, m = tt.fvector("x"), tt.dmatrix("m")
    op = Power(2)
    (square, cube), (of_matrix, _) = op(x), op(m)
    assert (square.type, of_matrix.type) == (x.type, m.type)
    values = function([x], [square, cube, tt.grad(cube.sum(), x)], mode=mode)(np.array([1, 2], "float32"))
    assert [v.tolist() for v in values] == [[1, 4], [1, 8], [3, 12]]
    assert {v.dtype for v in values} == {np.dtype("float32")}


def test_ops_of_equal_parameters_and_graphs_are_equal() -> None:
    x, y = tt.dvectors("x", "y")
    assert Power(2) == Power(2)
    assert Power(2) != Power(3)
    assert Power(2)(x)[0].owner.op == Power(2)(y)[0].owner.op
    assert Power(2)(x)[0].owner.op != Power(2)(tt.dmatrix())[0].owner.op
    op = Power(2)(x)[0].owner.op
    assert pickle.loads(pickle.dumps(op)) == op
    assert str(op) == "Power{exponent=2}"


def test_gradient_of_a_subclass_is_kept_in_a_batch() -> None:
    x, many = tt.dscalar("x"), tt.dvector("many")
    out = vectorize_graph(Doubled()(x), {x: many})
    assert function([many], tt.grad((out * out).sum(), many))([1.0, 2.0]).tolist() == [4.0, 8.0]


def test_op_without_a_graph_is_refused_with_advice() -> None:
    with pytest.raises(NotImplementedError, match="Implement build_inner_graph"):
        SymbolicOp()(tt.dvector())


def test_there_is_one_nominal_variable_of_an_id_and_type() -> None:
    kind = tt.dvector().type
    x = NominalVariable(0, kind)
    assert x is NominalVariable(0, kind)
    assert x is not NominalVariable(1, kind)
    assert x is not NominalVariable(0, tt.dmatrix().type)
    assert pickle.loads(pickle.dumps(x)) is x
    assert isinstance(x, AtomicVariable)
    assert issubclass(Constant, AtomicVariable)
    tensor: Any = x
    assert function([x], tensor * 2 + tensor[::-1])([1.0, 2.0]).tolist() == [4.0, 5.0]


def test_graph_between_nominal_variables_takes_shared_ones_as_inputs() -> None:
    x, y = tt.dvectors("x", "y")
    state = shared(np.arange(3.0))
    fgraph, implicit, _, _ = construct_nominal_fgraph([x], [x * state])
    assert implicit == [state]
    assert [str(v) for v in fgraph.inputs] == ["0", "1"]
    assert fgraph.inputs[0] is NominalVariable(0, x.type)
    with pytest.raises(MissingInputError, match="Add it to the inputs"):
        construct_nominal_fgraph([x], [x * y])


def test_shapes_of_outputs_follow_from_those_of_inputs() -> None:
    m, v = tt.dmatrix("m"), tt.dvector("v")
    n, k = tt.lscalars("n", "k")
    (product, joined) = infer_shape([m.T @ m, tt.concatenate([v, v])], [m, v], [(n, k), (n,)])
    assert product is not None
    assert joined is not None
    lengths = function([n, k], [*product, *joined])(3, 4)
    assert [int(x) for x in lengths] == [4, 4, 6]
