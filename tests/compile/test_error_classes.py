"""An error that an op raises can be caught by its own class, and as an error of the node."""

from __future__ import annotations

import pickle
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, wrap_py
from treadle.graph import Apply, NodeArithmeticError, NodeError, NodeValueError, Op
from treadle.scan import scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable


class OwnError(Exception):
    """A class with a signature of its own."""

    def __init__(self, code: int, *, extra: str) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra


class MadeOtherwiseError(Exception):
    def __new__(cls, code: int, extra: str) -> MadeOtherwiseError:  # noqa: ARG004 - read by __init__
        return super().__new__(cls, code)

    def __init__(self, code: int, extra: str) -> None:
        self.code = code
        self.extra = extra


class SlottedError(ValueError):
    __slots__ = ("code",)
    code: int


class PathError(FileNotFoundError):
    def __init__(self, name: str) -> None:
        super().__init__(2, "no such file", name)


class SealedError(Exception):
    def __init_subclass__(cls) -> None:
        msg = "sealed"
        raise TypeError(msg)


class Fail(Op):
    """The input, or an error where its sum is more than 5."""

    __props__: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, error: Exception) -> None:
        self.error = error

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        if inputs[0].sum() > 5:
            raise self.error
        output_storage[0][0] = inputs[0] * 1


def slotted() -> Exception:
    error = SlottedError("slots")
    error.code = 7
    return error


ERRORS: list[Exception] = [
    OwnError(7, extra="e"),
    MadeOtherwiseError(7, "e"),
    slotted(),
    PathError("missing.txt"),
    np.linalg.LinAlgError("singular"),
    AssertionError("bad"),
    KeyError("bad"),
    NotImplementedError("bad"),
    ZeroDivisionError("bad"),
    FloatingPointError("bad"),
    OverflowError("bad"),
    OSError(5, "bad"),
    TimeoutError("bad"),
    StopIteration(4),
    AttributeError("bad", name="n"),
    ImportError("bad", name="n"),
    UnicodeDecodeError("utf8", b"x", 0, 1, "bad"),
    ExceptionGroup("bad", [ValueError(1)]),
    MemoryError("bad"),
    RecursionError("bad"),
    EOFError(),
    ValueError("bad", 3),
    Exception("bad"),
]


def raised_by(error: Exception, mode: str) -> Exception:
    x = tt.dvector("x")
    compute = function([x], Fail(error)(x * 2) * 3, mode=mode)
    with pytest.raises(type(error)) as caught:
        compute(np.full(2, 9.0))
    return caught.value


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_what_perform_raises_is_caught_by_its_class(error: Exception) -> None:
    raised = raised_by(error, "VM")
    assert isinstance(raised, NodeError)
    assert raised.__cause__ is error
    assert raised.args == error.args
    assert "Fail" in str(raised)
    assert "test_error_classes.py" in str(raised)
    assert "float64 of shape (2,)" in str(raised)
    for name in ("code", "extra", "errno", "filename", "name", "value", "reason", "exceptions"):
        assert getattr(raised, name, None) == getattr(error, name, None)
    for other in (pickle.loads(pickle.dumps(raised)), copy(raised)):
        assert (type(other), str(other)) == (type(raised), str(raised))
        assert repr(other.args) == repr(error.args)
        assert getattr(other, "code", None) == getattr(error, "code", None)


@pytest.mark.parametrize("mode", ["CVM", "DebugMode", "FAST_COMPILE"])
def test_class_is_kept_in_other_modes(mode: str) -> None:
    raised: Any = raised_by(OwnError(7, extra="e"), mode)
    assert (raised.code, raised.extra) == (7, "e")
    assert isinstance(raised, NodeError)


@pytest.mark.parametrize("mode", ["VM", "CVM"])
def test_class_is_kept_in_loops_and_in_functions_as_ops(mode: str) -> None:
    x = tt.dvector("x")
    fail = Fail(OwnError(7, extra="e"))
    rows = scan(lambda s: fail(s * 2), outputs_info=[x], n_steps=4, return_updates=False)
    with pytest.raises(OwnError, match=r"Fail: 7.*In step 1 of the loop"):
        function([x], rows, mode=mode)(np.ones(2))

    def refused(_: Any) -> Any:
        raise OwnError(7, extra="e")

    op = wrap_py([tt.dvector], [tt.dvector])(refused)
    with pytest.raises(OwnError, match="refused"):
        function([x], op(x), mode=mode)(np.ones(2))


def test_nearest_class_of_nodes_errors_is_kept_too() -> None:
    assert isinstance(raised_by(ZeroDivisionError("bad"), "VM"), NodeArithmeticError)
    assert isinstance(raised_by(np.linalg.LinAlgError("bad"), "VM"), NodeValueError)
    assert type(raised_by(ValueError("bad"), "VM")) is NodeValueError


def test_error_of_a_class_that_nothing_derives_from_gets_a_note() -> None:
    error = SealedError("bad")
    raised = raised_by(error, "VM")
    assert raised is error
    assert len(raised.__notes__) == 1
    assert "Fail: bad, built at test_error_classes.py" in raised.__notes__[0]


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_covariance_that_is_not_positive_is_a_linear_algebra_error(mode: str, method: str) -> None:
    cov = tt.dmatrix("cov")
    draw = function([cov], tt.random.multivariate_normal(tt.zeros(2), cov, method=method), mode=mode)
    with pytest.raises(np.linalg.LinAlgError, match="positive"):
        draw([[1.0, 2.0], [2.0, 1.0]])
