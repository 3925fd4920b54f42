"""Ops and functions applied along leading dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, Cell, DisconnectedType, GraphTypeError, Op, Value, Variable, vectorize_graph
from treadle.tensor import (
    Blockwise,
    ShapeError,
    TensorTypeError,
    apply_along_axis,
    parse_gufunc_signature,
    safe_signature,
    vectorize,
)

RNG = np.random.default_rng(5)


class Product(Op):
    """A matrix times a vector, by an op that knows nothing of batches."""

    __props__ = ()
    gufunc_signature = "(m,n),(n)->(m)"

    def make_node(self, *inputs: object) -> Apply:
        a, b = map(tt.as_tensor, inputs)  # type: ignore[arg-type]  # tensors
        return Apply(self, [a, b], [tt.tensor(dtype="float64", shape=(a.type.shape[0],))])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        output_storage[0][0] = inputs[0] @ inputs[1]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        a, b = inputs
        return [tt.outer(cotangents[0], b), tt.dot(tt.transpose(a), cotangents[0])]


def batches() -> tuple[tt.TensorVariable, tt.TensorVariable, np.ndarray, np.ndarray]:
    return tt.dtensor3("a"), tt.dmatrix("b"), RNG.normal(size=(2, 3, 4)), RNG.normal(size=(1, 4))


@pytest.mark.parametrize("mode", ["VM", "CVM"])
def test_op_is_applied_to_each_part_of_the_batch(mode: str) -> None:
    a, b, x, y = batches()
    out = Blockwise(Product())(a, b)
    f = function([a, b], [out, out.shape], mode=mode)
    value, shape = f(x, y)
    np.testing.assert_allclose(value, (x @ y[..., None])[..., 0])
    assert shape.tolist() == [2, 3]
    assert f(x[:0], y)[0].shape == (0, 3)


def test_gradient_is_that_of_the_op_summed_over_what_was_broadcast() -> None:
    a, b, x, y = batches()
    slopes = function([a, b], tt.grad(Blockwise(Product())(a, b).sum(), [a, b]))(x, y)
    np.testing.assert_allclose(slopes[0], np.broadcast_to(y[:, None, :], x.shape))
    np.testing.assert_allclose(slopes[1], x.sum((0, 1))[None])


def test_gradient_of_a_batch_stays_away_where_the_op_says_that_nothing_flows() -> None:
    class Half(Product):
        def pullback(
            self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
        ) -> Sequence[Variable | None]:
            return [super().pullback(inputs, outputs, cotangents)[0], DisconnectedType()()]

    a, b, a_value, b_value = batches()
    cost = Blockwise(Half())(a, b).sum()
    slope = function([a, b], tt.grad(cost, a))(a_value, b_value)
    np.testing.assert_allclose(slope, np.broadcast_to(b_value[:, None], a_value.shape))
    with pytest.raises(tt.DisconnectedInputError):
        tt.grad(cost, b)


def test_matrix_products_say_of_which_op_on_batches_they_are_a_case() -> None:
    a, b = tt.dmatrix("a"), tt.dtensor3("b")
    node = (a @ a).owner
    assert node is not None
    op: Any = node.op
    product = tt.Blockwise(**op._props_dict())(b, a)
    values = np.arange(8.0).reshape(2, 2, 2), np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(product.eval({b: values[0], a: values[1]}), values[0] @ values[1])


def test_op_without_a_rule_for_batches_is_put_into_a_loop() -> None:
    m, v, a = tt.dmatrix("m"), tt.dvector("v"), tt.dtensor3("a")
    batch = vectorize_graph(Product()(m, v), {m: a})
    assert isinstance(batch.owner.op, Blockwise)
    x, y = RNG.normal(size=(2, 3, 4)), RNG.normal(size=4)
    np.testing.assert_allclose(batch.eval({a: x, v: y}), x @ y)
    wider = vectorize_graph(batch, {v: tt.dmatrix("vs")})
    assert wider.type.ndim == 3


def test_lengths_that_do_not_fit_are_refused() -> None:
    op = Blockwise(Product())
    with pytest.raises(ShapeError, match=r"core dimension n .* has lengths 4 and 5"):
        op(tt.zeros((2, 3, 4)), tt.zeros((5,)))
    a, b, x, _ = batches()
    with pytest.raises(ValueError, match=r"core dimension n .* has lengths 4 and 5"):
        function([a, b], op(a, b))(x, np.zeros((1, 5)))
    with pytest.raises(TensorTypeError, match="fewer dimensions than its core"):
        op(tt.dvector(), tt.dvector())
    with pytest.raises(TensorTypeError, match="2 inputs are needed, got 1"):
        op(tt.dmatrix())


@pytest.mark.parametrize("op", ["Product", Blockwise(Product())])
def test_object_that_is_not_a_core_op_is_refused(op: object) -> None:
    with pytest.raises(GraphTypeError, match="core_op must be an op"):
        Blockwise(op)  # type: ignore[arg-type]  # the error that is tested


def test_op_without_a_signature_needs_one() -> None:
    with pytest.raises(ShapeError, match="no gufunc_signature"):
        Blockwise(tt.Join(0))


@pytest.mark.parametrize("text", ["", "(n)", "n->n", "(n)->", "(n),(m->n)", "(n)->(m", 3])
def test_text_that_is_not_a_signature_is_refused(text: str) -> None:
    if text == "(n)->":
        assert parse_gufunc_signature(text) == ([("n",)], [])
        return
    with pytest.raises(ShapeError, match="core dimensions are needed"):
        vectorize(tt.exp, text)


def test_signatures_are_read_and_made() -> None:
    assert parse_gufunc_signature("(m, n),(), (2)->(n,m),()") == ([("m", "n"), (), ("2",)], [("n", "m"), ()])
    assert safe_signature([2, 0], [1, 0]) == "(i00,i01),()->(o00),()"


def test_function_is_vectorised_without_a_loop() -> None:
    a, b, x, y = batches()
    out = vectorize(lambda m, v: tt.dot(m, v) + 1, "(m,n),(n)->(m)")(a, b)
    np.testing.assert_allclose(out.eval({a: x, b: y}), (x @ y[..., None])[..., 0] + 1)
    several = vectorize(lambda v: (v.sum(), v[::-1]), "(n)->(),(n)")(b)
    assert [out.ndim for out in several] == [1, 2]
    assert vectorize(tt.ifelse)(tt.lscalar(), x, 1.0).ndim == 3


def test_function_that_does_not_fit_its_signature_is_refused() -> None:
    v = tt.dvector()
    with pytest.raises(ShapeError, match="2 arguments are needed"):
        vectorize(tt.dot, "(n),(n)->()")(v)
    with pytest.raises(ShapeError, match="fewer dimensions"):
        vectorize(tt.dot, "(m,n),(n)->(m)")(v, v)
    with pytest.raises(ShapeError, match=r"not what .* says"):
        vectorize(tt.exp, "(n)->()")(v)
    with pytest.raises(TensorTypeError, match="must return tensors"):
        vectorize(lambda _: None, "(n)->()")(v)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_apply_along_axis_is_that_of_numpy(axis: int) -> None:
    a, _, x, _ = batches()

    def table(library: Any, v: Any, k: int = 1) -> Any:
        return library.outer(v, v)[:2] * k

    ours = apply_along_axis(lambda v, k: table(tt, v, k=k), axis, a, 3)
    theirs = np.apply_along_axis(lambda v: table(np, v, k=3), axis, x)
    np.testing.assert_allclose(ours.eval({a: x}), theirs)


def test_sums_and_products_of_any_number_of_tensors() -> None:
    x = tt.dvector("x")
    assert [int(f().eval()) for f in (tt.variadic_add, tt.variadic_mul)] == [0, 1]
    assert tt.variadic_add(x) is x
    assert tt.variadic_mul(x, 2.0, x).eval({x: [3.0]}).tolist() == [18.0]
    assert tt.transfer(x, "cpu") is x
    assert tt.values_eq_approx_always_true(1, 2)


class _Doubled(Op):
    """A vector followed by as many zeros, with an infer_shape; its gradient does not depend on values."""

    __props__ = ()

    def make_node(self, *inputs: object) -> Apply:
        (x,) = map(tt.as_tensor, inputs)  # type: ignore[arg-type]  # tensors
        return Apply(self, [x], [tt.tensor(dtype="float64", shape=(None,))])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        raise NotImplementedError

    def infer_shape(self, node: Apply, shapes: Any) -> Any:
        return [(2 * shapes[0][0],)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        return [tt.zeros_like(inputs[0])]


def test_a_core_gradient_that_does_not_depend_on_the_batch_is_the_same_for_all_of_it() -> None:
    for shape in ((5, 2), (None, None)):
        x = tt.tensor(dtype="float64", shape=shape)
        slope = tt.grad(tt.sum(Blockwise(_Doubled(), "(a)->(b)")(x)), x)
        assert slope.type.shape == shape
        np.testing.assert_array_equal(function([x], slope, mode="VM")(np.ones((5, 2))), np.zeros((5, 2)))


def test_shapes_come_from_the_infer_shape_of_the_core_op() -> None:
    x = tt.matrix("x")
    shape = function([x], Blockwise(_Doubled(), "(a)->(b)")(x).shape, mode="VM")
    np.testing.assert_array_equal(shape(np.ones((5, 3))), [5, 6])


class _Pair(_Doubled):
    """A matrix of two rows from a number."""

    def make_node(self, *inputs: object) -> Apply:
        (x,) = map(tt.as_tensor, inputs)  # type: ignore[arg-type]  # tensors
        return Apply(self, [x], [tt.tensor(dtype="float64", shape=(None, None))])

    infer_shape = Op.infer_shape


def test_numbers_in_a_signature_are_lengths() -> None:
    x = tt.vector("x")
    y = Blockwise(_Pair(), "()->(2,a)")(x)
    assert y.type.shape == (None, 2, None)
    lengths: Any = function([x], [y.shape[0], y.shape[1]], mode="VM")
    assert [int(n) for n in lengths(np.ones(7))] == [7, 2]
    with pytest.raises(ShapeError, match="core dimension 3"):
        Blockwise(_Pair(), "(3)->(2,a)")(tt.tensor(dtype="float64", shape=(4, 5)))
