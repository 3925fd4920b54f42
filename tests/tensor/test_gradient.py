"""grad: what it returns and refuses. Its numbers are checked by the contract."""

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import DisconnectedType, FunctionGraph, GraphTypeError, clone_replace, toposort
from treadle.link.vm import PythonLinker
from treadle.tensor import DisconnectedInputError, DtypeError, ShapeError, ShapeI, SumTo, grad

X = tt.dvector("x")


def test_gradient_has_the_variables_type_and_a_name() -> None:
    cost = tt.sum(tt.exp(X))
    cost.name = "cost"
    slope = grad(cost, X)
    assert slope.type.is_super(X.type)
    assert slope.name == "(dcost/dx)"


def test_several_variables_give_a_list_and_a_tuple_gives_a_tuple() -> None:
    y = tt.dvector("y")
    cost = tt.sum(X * y)
    assert isinstance(grad(cost, [X, y]), list)
    assert isinstance(grad(cost, (X, y)), tuple)


def test_gradients_of_all_uses_are_added() -> None:
    slope = grad(tt.sum(X * X + 3 * X), X)
    gradient = PythonLinker().link(FunctionGraph([X], [slope]))(np.array([1.0, 2.0]))[0]
    np.testing.assert_array_equal(gradient, [5, 7])


def test_gradient_sums_over_what_was_broadcast_at_run_time() -> None:
    y = tt.dvector("y")
    slopes = grad(tt.sum(X * y), [X, y])
    gradients = PythonLinker().link(FunctionGraph([X, y], slopes))(np.array([2.0]), np.arange(4.0))
    assert [f.shape for f in gradients] == [(1,), (4,)]
    np.testing.assert_array_equal(gradients[0], [6])


def test_gradient_by_a_scalar_that_was_broadcast_is_one_sum() -> None:
    a = tt.dscalar("a")
    node, total = grad(tt.sum(X * a), a).owner, tt.sum(X).owner
    assert node is not None
    assert total is not None
    assert node.op == total.op
    assert not any(isinstance(n.op, SumTo | ShapeI) for n in toposort([node.out]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_gradient_by_a_scalar_keeps_its_dtype(dtype: str) -> None:
    a, x = tt.scalar("a", dtype=dtype), tt.matrix("x", dtype=dtype)
    slope = grad(tt.sum(abs(x * a)), a)
    value = PythonLinker().link(FunctionGraph([a, x], [slope]))(np.ones((), dtype), np.ones((70, 60), dtype))[0]
    assert value.dtype == dtype
    assert value == 4200


def test_maximum_shares_a_tie() -> None:
    slope = grad(tt.max(X), X)
    gradient = PythonLinker().link(FunctionGraph([X], [slope]))(np.array([1.0, 3.0, 3.0]))[0]
    np.testing.assert_array_equal(gradient, [0, 0.5, 0.5])


def test_nothing_flows_through_what_is_held_constant() -> None:
    y = tt.exp(X)
    slope = grad(tt.sum(X * y), X, consider_constant=[y])
    gradient = PythonLinker().link(FunctionGraph([X], [slope]))(np.array([0.0]))[0]
    np.testing.assert_array_equal(gradient, [1])


def test_known_gradients_start_the_accumulation() -> None:
    y = tt.exp(X)
    slope = grad(None, X, known_grads={y: tt.ones_like(y)})
    gradient = PythonLinker().link(FunctionGraph([X], [slope]))(np.zeros(2))[0]
    np.testing.assert_array_equal(gradient, [1, 1])


def test_cost_that_is_not_a_scalar_is_refused() -> None:
    with pytest.raises(ShapeError, match="must be a scalar"):
        grad(X, X)


def test_cost_that_is_not_a_float_is_refused() -> None:
    with pytest.raises(DtypeError, match="must be of a float dtype"):
        grad(tt.sum(tt.lvector()), X)


def test_value_that_is_not_a_variable_is_refused() -> None:
    with pytest.raises(GraphTypeError, match=r"got 3\.0"):
        grad(tt.sum(X), [3.0])


def test_no_cost_and_no_known_gradients_is_refused() -> None:
    with pytest.raises(GraphTypeError, match="known_grads"):
        grad(None, X)


@pytest.mark.parametrize("unrelated", [tt.dvector("y"), tt.lvector("i")])
def test_disconnected_variable_is_refused_by_name(unrelated: tt.TensorVariable) -> None:
    with pytest.raises(DisconnectedInputError, match=f"{unrelated.name}"):
        grad(tt.sum(X), unrelated)


def test_disconnected_variable_gives_what_is_asked_for() -> None:
    y = tt.dvector("y")
    cost = tt.sum(X)
    with pytest.warns(UserWarning, match="does not depend on y"):
        zero = grad(cost, y, disconnected_inputs="warn")
    assert zero.type.ndim == 1
    assert grad(cost, y, disconnected_inputs="ignore", return_disconnected="None") is None
    missing = grad(cost, y, disconnected_inputs="ignore", return_disconnected="disconnected")
    assert isinstance(missing.type, DisconnectedType)


def test_nothing_flows_through_comparisons_and_shapes() -> None:
    with pytest.raises(DisconnectedInputError):
        grad(tt.sum(tt.cast(X > 0, "float64")), X)
    with pytest.raises(DisconnectedInputError):
        grad(tt.cast(X.shape[0], "float64"), X)


def test_unknown_choice_is_refused_with_the_list() -> None:
    with pytest.raises(ValueError, match="raise, warn, ignore"):
        grad(tt.sum(X), X, disconnected_inputs="error")


def test_long_chain_is_differentiated(length: int) -> None:
    y = X
    for _ in range(length):
        y = y + 1
    assert grad(tt.sum(y), X).type.is_super(X.type)


def test_gradient_of_a_range_flows_to_start_and_step() -> None:
    a, b = tt.dscalar("a"), tt.dscalar("b")
    by_start = grad(tt.sum(tt.arange(a, a + 3.0)) + a**2, a)
    assert by_start.eval({a: 1.0}) == 5
    gradients = [g.eval({a: 1.0, b: 0.5}) for g in grad(tt.sum(tt.arange(a, 3.0, b)), [a, b])]
    assert gradients == [4, 6]


def test_nothing_flows_through_a_range_of_integers_or_by_its_stop() -> None:
    a = tt.dscalar("a")
    for numbers in (tt.arange(a, a + 3, dtype="int64"), tt.arange(0.0, a)):
        with pytest.raises(DisconnectedInputError):
            grad(tt.sum(numbers * 1.0), a)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_log1mexp_falls_without_bound_towards_zero(zero: float) -> None:
    a = tt.dscalar("a")
    slope = grad(tt.log1mexp(a), a)
    assert [g.eval({a: zero}) for g in (slope, grad(slope, a))] == [-np.inf, -np.inf]
    np.testing.assert_allclose(slope.eval({a: -1e-20}), -1e20, rtol=1e-12)


def test_corrected_variance_is_the_same_number_computed_in_two_passes() -> None:
    values = np.array([1.0, 2.0, 4.0, 6.0])
    assert tt.var(X, corrected=True).eval({X: values}) == np.var(values)
    assert tt.std(X, ddof=1, corrected=True).eval({X: values}) == np.std(values, ddof=1)


def test_corrected_variance_takes_out_the_rounding_of_the_mean() -> None:
    x = tt.fvector("x")
    values = (np.float32(1e6) + np.arange(1001, dtype="float32") % 3).astype("float32")
    exact = np.var(values.astype("float64"))
    plain, corrected = (abs(tt.var(x, corrected=c).eval({x: values}) - exact) for c in (False, True))
    assert corrected < 1e-6
    assert corrected <= plain


def test_sum_in_integers_is_not_smooth() -> None:
    with pytest.raises(DisconnectedInputError):
        grad(tt.sum(X, dtype="float64", acc_dtype="int64"), X)


def test_sign_of_what_flows_back_is_written_once_behind_the_products() -> None:
    x = tt.dvector("x")
    slope = grad(tt.exp(1 / tt.sqrt(tt.tanh(x))).sum(), x)
    node = slope.owner
    assert node is not None
    assert node.op == tt.neg
    assert sum(below.op == tt.neg for below in toposort([slope])) == 1


def test_sign_of_what_flows_back_ends_in_a_difference() -> None:
    x = tt.dvector("x")
    slope = grad(tt.exp(x).sum() - tt.sin(x).sum() - tt.sinh(x).sum(), x)
    node = slope.owner
    assert node is not None
    assert node.op == tt.sub
    assert tt.neg not in [below.op for below in toposort([slope])]
    np.testing.assert_allclose(slope.eval({x: [0.5]}), np.exp(0.5) - np.cos(0.5) - np.cosh(0.5))


def test_negative_that_a_user_wrote_stays_in_the_gradient() -> None:
    x, z, v, w = (tt.dvector(name) for name in "xzvw")
    product = x * z
    seed = -v
    slope = grad(None, x, known_grads={product: seed})
    (other,) = clone_replace([slope], {seed: w})
    assert other.eval({w: [2.0], x: [1.0], z: [3.0]}) == [6.0]
