"""Wrong arguments of everything public end in errors of treadle's, which name what was called and what was given."""

import os
from typing import Any

import numpy as np
import pytest

import treadle.tensor
from tests.tensor.bad_calls import faults
from treadle.config import TreadleError
from treadle.graph import IfElse

SEED = int(os.environ.get("TREADLE_BAD_CALLS_SEED", "0"))
COUNT = int(os.environ.get("TREADLE_BAD_CALLS", "100000"))


@pytest.mark.parametrize("seed", [1, 2])
def test_random_bad_calls_are_refused_by_name(seed: int) -> None:
    assert list(faults(seed, 1500)) == []


@pytest.mark.slow
def test_many_random_bad_calls_are_refused_by_name() -> None:
    assert list(faults(SEED, COUNT)) == []


# The calls are wrong on purpose and are not type checked.
tt: Any = treadle.tensor
X = tt.dmatrix("X")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: X.reshape((2, 3), ndim=2**31), "reshape: a tensor has 64 dimensions at most"),
        (lambda: tt.shape_padleft(X, 2**31), "shape_padleft: a tensor has 64 dimensions at most"),
        (lambda: tt.shape_padright(X, 1.5), "shape_padright: n_ones must be an integer of 0 or more"),
        (lambda: tt.flatten(X, "1"), "flatten: ndim must be an integer, known .*, got '1'"),
        (lambda: tt.round(X, mode=[0]), r"round: the mode must be one of .*, got \[0\]"),
        (lambda: tt.zeros(2, dtype=np.ones(2)), "zeros: the dtype must be one of .*, got array"),
        (lambda: tt.zeros_like(X, dtype=""), "zeros_like: the dtype must be one of .*, got ''"),
        (lambda: tt.eye(3, k=0.5), "eye: k must be an integer or an integer scalar, got 0.5"),
        (lambda: tt.eye(2**63), "eye: n: 9223372036854775808 cannot be made a tensor"),
        (lambda: tt.arange(float("inf")), "arange: the numbers from 0 to inf .* cannot be counted"),
        (lambda: tt.arange(float("nan")), "arange: the numbers from 0 to nan .* cannot be counted"),
        (lambda: tt.arange(1j), "arange: start, stop and step must be real numbers"),
        (lambda: tt.var(X, ddof="1"), "var: ddof must be a number, known .*, got '1'"),
        (lambda: tt.std(X, ddof=float("nan")), "std: ddof must be a number, known .*, got nan"),
        (lambda: tt.std(X, corrected=[1]), r"std: corrected must be True or False, got \[1\]"),
        (lambda: tt.grad(X.sum(), 3.0), "grad: wrt must be a sequence, got 3.0"),
        (lambda: tt.grad(X.sum(), X, known_grads=[X]), r"grad: known_grads maps variables .*, got \[X\]"),
        (lambda: IfElse(2**31, as_view=True), "IfElse: n_outs must be an integer from 1 to 10000, got 2147483648"),
        (lambda: tt.shared(np.ones(2)).set_value(np.ones(2), borrow=[]), "set_value: borrow must be True or False"),
        (lambda: tt.shared(np.ones(2), borrow=np.ones(2)), "shared: borrow must be True or False, got array"),
        (lambda: tt.vector().mT, "mT: a tensor of rank 2 or more is needed"),
        (lambda: tt.TensorConstant("float64", 1.0), "TensorConstant: a type is needed, got 'float64'"),
        (lambda: tt.shared(np.ones(2)).get_value(borrow=np.ones(2)), "get_value: borrow must be True or False, got"),
    ],
)  # fmt: skip
def test_argument_of_a_wrong_kind_is_refused_where_it_enters(call: Any, message: str) -> None:
    with pytest.raises(TreadleError, match=f"^{message}"):
        call()
