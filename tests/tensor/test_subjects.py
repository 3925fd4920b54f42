"""The subject of an error about a wrong argument is the function that the user called, with the argument's name."""

import copy
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

import treadle.scan
import treadle.tensor
from treadle.config import TreadleError, alias
from treadle.graph import GraphTypeError

# The calls are wrong on purpose and are not type checked.
tt: Any = treadle.tensor
X = tt.dvector("x")
M = tt.dmatrix("m")


@pytest.mark.parametrize(
    ("call", "subject"),
    [
        (lambda: tt.exp("a"), "exp: "),
        (lambda: tt.maximum(X, "a"), "maximum: operand 2: "),
        (lambda: tt.bitwise_and(X, 1), "bitwise_and: "),
        (lambda: tt.linalg.svd(None), "svd: a: "),
        (lambda: tt.fft.rfft("a"), "rfft: a: "),
        (lambda: tt.random.normal("a"), "normal: loc: "),
        (lambda: tt.random.normal(size="a"), "normal: size: "),
        (lambda: tt.random.RandomStream(3).normal(scale="a"), "normal: scale: "),
        (lambda: tt.random.normal(size=(-1,)), "normal: size: "),
        (lambda: tt.clip(X, "a", 2), "clip: a_min: "),
        (lambda: tt.vstack([X, None]), "vstack: tup: "),
        (lambda: tt.std(X, ddof="a"), "std: ddof "),
        (lambda: tt.zeros(2, dtype="nonsense"), "zeros: the dtype "),
        (lambda: tt.dcol("c", shape=[5, 4]), "dcol: "),
        (lambda: tt.logsumexp("a"), "logsumexp: x: "),
        (lambda: tt.value_and_grad(X.sum(), "a"), "value_and_grad: "),
        (lambda: X.sum(axis="a"), "sum: "),
        (lambda: X.sort(kind="a"), "sort: kind "),
        (lambda: X.mT, "mT: "),
        (lambda: X + "a", "add: "),
        (lambda: M @ "a", "matmul: "),
        (lambda: tt.Join("a"), "Join: axis "),
        (lambda: tt.TensorType("a", ()), "TensorType: the dtype "),
        (lambda: np.clip(X, "a", 3), "numpy.clip: "),
        (
            lambda: tt.correlate2d(M, 0.5) if hasattr(tt, "correlate2d") else tt.signal.correlate2d(M, 0.5),
            "correlate2d",
        ),
        (lambda: X["a"], "indexing: "),
    ],
)
def test_the_subject_is_what_was_called(call: Any, subject: str) -> None:
    with pytest.raises(TreadleError) as caught:
        call()
    assert str(caught.value).startswith(subject)


@pytest.mark.parametrize(
    "name",
    [
        *("amax", "max", "amin", "min", "around", "round", "concat", "concatenate", "permute_dims", "transpose"),
        *("row_stack", "vstack", "absolute", "abs", "divide", "true_div", "pow", "power", "arccos", "acos"),
        *("bitwise_or", "or_", "fix", "as_tensor", "asanyarray", "psi", "square", "not_equal"),
    ],
)
def test_an_alias_goes_by_its_own_name(name: str) -> None:
    function = getattr(tt, name)
    count = function.nin if isinstance(function, tt.Elemwise) else 1
    with pytest.raises(TreadleError, match=rf"^{name}: "):
        function(*["a"] * count)


@pytest.mark.parametrize("name", ["nbinom", "negative_binomial", "wald", "inverse_gaussian", "fisk", "log_logistic"])
def test_an_alias_of_a_distribution_goes_by_its_own_name(name: str) -> None:
    distribution = getattr(tt.random, name)
    with pytest.raises(TreadleError, match=rf"^{name}: "):
        distribution(*["a"] * len(distribution.parameters))


def test_linear_algebra_by_another_name_is_not_named_by_its_first() -> None:
    with pytest.raises(TreadleError, match=r"^cho_factor: a: "):
        tt.linalg.cho_factor("a")


def test_in_a_function_of_the_users_the_innermost_call_is_named() -> None:
    def step(value: Any) -> Any:
        return tt.cos("a") + value

    with pytest.raises(TreadleError, match=r"^cos: "):
        treadle.scan.scan(step, outputs_info=[tt.constant(0.5)], n_steps=3)


def test_a_call_through_partial_or_map_is_named_too() -> None:
    with pytest.raises(TreadleError, match=r"^reshape: newshape: "):
        partial(tt.reshape, X)("a")
    with pytest.raises(TreadleError, match=r"^svd: a: "):
        list(map(tt.linalg.svd, [None]))


def test_an_unknown_keyword_is_refused_in_the_name_of_the_function() -> None:
    with pytest.raises(GraphTypeError, match=r"^exp: .*unexpected keyword argument 'nosuch'") as caught:
        tt.exp(X, nosuch=1)
    assert "make_node" not in str(caught.value)


def test_an_error_is_copied_and_pickled_with_its_message() -> None:
    with pytest.raises(TreadleError) as caught:
        tt.exp("a")
    for other in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert (type(other), str(other)) == (type(caught.value), str(caught.value))


def test_an_alias_is_the_same_op() -> None:
    assert tt.absolute == tt.abs
    assert hash(tt.absolute) == hash(tt.abs)
    assert pickle.loads(pickle.dumps(tt.absolute)) == tt.abs


def test_an_alias_keeps_signature_and_documentation() -> None:
    def double(number: int, *, more: int = 0) -> int:
        """Return it twice."""
        return 2 * number + more

    twice = alias(double, "twice")
    assert (twice.__name__, twice.__doc__, twice(3, more=1)) == ("twice", "Return it twice.", 7)
