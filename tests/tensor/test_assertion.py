"""Assertions: the errors, and what remains of them in gradients, batches and rewritten graphs."""

import pickle

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import GraphTypeError, GraphValueError, NodeError, vectorize_graph
from treadle.tensor import Assert, CheckAndRaise


class ParameterError(ValueError):
    def __init__(self, text: str, name: str = "x") -> None:
        super().__init__(text, name)


def checked(x: tt.TensorVariable) -> tt.TensorVariable:
    positive: tt.TensorVariable = CheckAndRaise(ParameterError, "x must be positive")(x, x > 0)
    return positive


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_error_is_of_the_class_that_was_named_and_holds_message_and_line(mode: str) -> None:
    x = tt.dvector("x")
    f = function([x], tt.exp(checked(x)), mode=mode)
    assert f([0.0 + 1e-9]).shape == (1,)
    with pytest.raises(ParameterError, match=r"x must be positive.*built at .*test_assertion\.py:\d+") as caught:
        f([1.0, -1.0])
    assert isinstance(caught.value, NodeError)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_error_begins_with_the_message(mode: str) -> None:
    x = tt.dvector("x")
    for check in (CheckAndRaise(ValueError, "x must be positive"), Assert("x must be positive")):
        with pytest.raises((ValueError, AssertionError), match=r"^x must be positive, built at "):
            function([x], check(x, x > 0), mode=mode)([-1.0])


def test_long_message_is_cut_in_the_text_of_the_op() -> None:
    assert str(CheckAndRaise(ValueError, "a" * 30)) == f"CheckAndRaise{{raises=ValueError, msg='{'a' * 30}'}}"
    assert str(CheckAndRaise(ValueError, "a" * 31)) == f"CheckAndRaise{{raises=ValueError, msg='{'a' * 27}...'}}"


def test_error_of_a_class_of_the_users_pickles() -> None:
    x = tt.dvector("x")
    with pytest.raises(ParameterError) as caught:
        function([x], checked(x), mode="VM")([-1.0])
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, ParameterError)
    assert str(again) == str(caught.value)


def test_what_is_false_for_certain_is_raised_by_the_program_only() -> None:
    f = function([], Assert("never")(tt.constant(1.0), False))
    with pytest.raises(AssertionError, match="never"):
        f()


def test_gradient_passes_through() -> None:
    x = tt.dscalar("x")
    y = tt.grad(Assert("small")(x**2, x < 10), x)
    assert y.eval({x: 3.0}) == 6.0


def test_conditions_of_a_batch_count_together() -> None:
    x, xs = tt.dscalar("x"), tt.dvector("xs")
    batch = vectorize_graph(Assert("positive")(x * 2, x > 0), {x: xs})
    assert batch.eval({xs: [1.0, 2.0]}).tolist() == [2.0, 4.0]
    with pytest.raises(AssertionError, match="positive"):
        batch.eval({xs: [1.0, -2.0]})


def test_value_need_not_be_a_tensor() -> None:
    s, x = tt.slicetype("s"), tt.lscalar("x")
    f = function([s, x], Assert("positive")(s, x > 0), mode="VM")
    assert f(slice(1, 2), 1) == slice(1, 2)


def test_shape_is_found_without_the_check() -> None:
    x = tt.dmatrix("x")
    f = function([x], checked(x).shape)
    assert f(-np.ones((2, 3))).tolist() == [2, 3]


@pytest.mark.parametrize("options", [{"optimizer": "unsafe"}, {"optimizer_including": "removed_assertion"}])
def test_assertions_are_dropped_where_that_is_asked_for(options: dict[str, str]) -> None:
    from treadle.config import config

    x = tt.dvector("x")
    with config.change_flags(**options):
        f = function([x], checked(x) * 2)
    assert f([-1.0]).tolist() == [-2.0]


def test_object_that_is_not_an_error_or_value_is_refused() -> None:
    with pytest.raises(GraphTypeError, match="class of exceptions"):
        CheckAndRaise("ValueError")  # type: ignore[arg-type]  # the error that is tested
    with pytest.raises(GraphValueError, match="a value and conditions"):
        Assert("any")()
