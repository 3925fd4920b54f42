"""Methods of variables: each is the function of its name."""

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function

X = np.array([[0.3, 0.1, 0.9], [0.5, 0.7, 0.2]])
ELEMENTWISE = (
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "cos", "cosh", "deg2rad", "exp", "exp2"),
    *("expm1", "floor", "log", "log10", "log1p", "log2", "rad2deg", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)


def test_elementwise_methods_are_the_functions() -> None:
    x = tt.dmatrix("x")
    values = function([x], [getattr(x, name)() for name in ELEMENTWISE], mode="VM")(X)
    with np.errstate(all="ignore"):
        for name, value in zip(ELEMENTWISE, values, strict=True):
            np.testing.assert_allclose(value, getattr(np, name)(X), err_msg=name)
    assert tt.TensorVariable.exp.__name__ == "exp"


@pytest.mark.parametrize(
    "text",
    [
        *("x.argsort(axis=0)", "x.argpartition(1)[:, 1]"),
        *("x[0].cumsum()", "x.cumsum(1)", "x.cumprod(axis=0)", "x.trace()", "x.trace(1)", "x.diagonal(-1)"),
        *("x.repeat(2)", "x.repeat(2, axis=1)", "x.compress([True, False], axis=0)", "x.nonzero()[0]"),
        "x.astype('int64').choose([x, -x])",
        "x[1].searchsorted(0.4, side='right')",
    ],
)
def test_methods_are_those_of_arrays(text: str) -> None:
    x = tt.dmatrix("x")
    values = np.sort(X)
    value = eval(text, {"x": x}).eval({x: values})
    expected = eval(text, {"x": values})
    assert value.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(value, expected)


def test_sorting_does_not_change_the_tensor() -> None:
    x = tt.dmatrix("x")
    np.testing.assert_array_equal(x.sort(0).eval({x: X}), np.sort(X, 0))
    np.testing.assert_array_equal(x.partition(1)[:, 1].eval({x: X}), np.sort(X)[:, 1])


@pytest.mark.parametrize("order", [0, 1, 2, 3, float("inf"), -float("inf")])
def test_norm_is_that_of_all_elements_as_one_vector(order: float) -> None:
    x = tt.dmatrix("x")
    np.testing.assert_allclose(x.norm(order).eval({x: X}), np.linalg.norm(X.ravel(), order))
    np.testing.assert_allclose(x.norm(order, axis=0).eval({x: X}), np.linalg.norm(X, order, axis=0))


def test_values_of_constants_are_python_numbers() -> None:
    assert tt.constant([1, 2]).tolist() == [1, 2]
    assert tt.constant([1.5, 2.5]).item(1) == 2.5


@pytest.mark.parametrize("method", ["item", "tolist"])
def test_variables_have_no_values_to_give(method: str) -> None:
    with pytest.raises(TypeError, match=f"{method}: x .* has no value yet.*eval"):
        getattr(tt.dvector("x"), method)()


def test_node_of_a_variable_is_matched() -> None:
    x = tt.dvector("x")
    match tt.exp(x).owner_op_and_inputs:
        case tt.Elemwise(), operand:
            assert operand is x
        case _:
            pytest.fail("no match")
    assert x.owner_op is None
    assert x.owner_op_and_inputs == (None,)


def test_methods_take_numpys_arguments() -> None:
    x = tt.dmatrix("x")
    results = [x.clip(min=1), x.clip(max=2.0), x.ravel("F"), x.reshape(-1, 2, order="F")]
    expected = [X.clip(min=1), X.clip(max=2.0), X.ravel("F"), X.reshape(X.size // 2, 2, order="F")]
    for ours, theirs in zip(function([x], results, mode="VM")(X), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_tensors_are_where_the_program_runs() -> None:
    x = tt.dvector("x")
    assert x.transfer("cpu") is x
    with pytest.raises(TypeError, match="the only device is 'cpu'"):
        x.transfer("gpu")
