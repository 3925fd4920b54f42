"""Failures: calls that must raise on every backend, with an error that names the op and the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treadle import tensor as tt
from treadle.config import dataclass
from treadle.graph import NodeError
from treadle.tensor import TensorVariable
from treadle.testing.domain import Array
from treadle.testing.errors import ContractError
from treadle.testing.linking import compiled, linked


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that must raise.

    Parameters
    ----------
    name
        What is wrong with the call.
    build
        Takes variables of unknown shape, returns the result.
    arrays
        The values of the call.
    error
        The builtin class that the error must derive from.
    op
        The name of the op that the message must contain.
    """

    name: str
    build: Callable[..., TensorVariable]
    arrays: tuple[Array, ...]
    error: type[Exception] | tuple[type[Exception], ...]
    op: str

    def __str__(self) -> str:
        """Show the name."""
        return self.name


def _array(*shape: int) -> Array:
    return np.ones(shape)


def _numbers(*values: int) -> Array:
    return np.array(values, "int64")


def _number(value: int) -> Array:
    return np.array(value, "int64")


FAILURES: tuple[Failure, ...] = (
    Failure("elementwise_shapes_clash", tt.add, (_array(3, 4), _array(3, 5)), ValueError, "Add"),
    Failure(
        "shapes_clash_in_a_chain",
        lambda x, y: tt.exp(tt.sin(x) * y) + 1,
        (_array(3, 4), _array(2, 4)),
        ValueError,
        "Mul",
    ),
    Failure("empty_meets_longer", tt.mul, (_array(0), _array(3)), ValueError, "Mul"),
    Failure("inner_lengths_differ", tt.matmul, (_array(3, 4), _array(5, 2)), ValueError, "MatMul"),
    Failure("stacks_clash", tt.matmul, (_array(2, 3, 4), _array(3, 4, 2)), ValueError, "MatMul"),
    Failure("joined_lengths_differ", lambda x, y: tt.join(0, x, y), (_array(3, 4), _array(3, 5)), ValueError, "Join"),
    Failure("elements_do_not_fit", lambda x: x.reshape((2, 5)), (_array(3, 4),), ValueError, "Reshape"),
    Failure("length_is_broken", lambda x: x.reshape((5, -1)), (_array(3, 4),), ValueError, "Reshape"),
    Failure("dimension_is_not_one", lambda x: x.dimshuffle(1), (_array(2, 4),), ValueError, "DimShuffle"),
    Failure("cannot_be_broadcast", lambda x, n: tt.alloc(x, 2, n), (_array(3), _number(4)), ValueError, "Alloc"),
    Failure("length_is_negative", tt.alloc, (_array(), _number(-2)), ValueError, "Alloc"),
    Failure("cannot_be_summed", tt.sum_to, (_array(3, 4), _array(2, 4)), ValueError, "SumTo"),
    Failure(
        "length_is_not_as_said", lambda x: tt.specify_shape(x, (None, 5)), (_array(3, 4),), ValueError, "SpecifyShape"
    ),
    Failure("maximum_of_nothing", lambda x: tt.max(x, axis=0), (_array(0, 4),), ValueError, "Max"),
    Failure("minimum_of_nothing", tt.min, (_array(0),), ValueError, "Min"),
    Failure("position_in_nothing", lambda x: tt.argmax(x, axis=1), (_array(3, 0),), ValueError, "Argmax"),
    Failure("position_is_too_large", lambda x: x[3], (_array(3, 4),), IndexError, "Subtensor"),
    Failure("position_is_too_small", lambda x, i: x[:, i], (_array(3, 4), _number(-5)), IndexError, "Subtensor"),
    Failure("a_picked_position_is_too_large", lambda x, i: x[i], (_array(3), _numbers(0, 3)), IndexError, "Subtensor"),
    Failure(
        "a_picked_position_is_too_small", lambda x, i: x[:, i], (_array(2, 3), _numbers(0, -4)), IndexError, "Subtensor"
    ),
    Failure(
        "picked_positions_clash",
        lambda x, i, j: x[i, j],
        (_array(3, 3), _numbers(0, 1), _numbers(0, 1, 2)),
        (IndexError, ValueError),  # either is natural
        "Subtensor",
    ),
    Failure("set_out_of_bounds", lambda x, i: x[i].set(0.0), (_array(3), _number(3)), IndexError, "SetSubtensor"),
    Failure(
        "increment_out_of_bounds", lambda x, i: x[i].inc(1.0), (_array(3), _numbers(1, 7)), IndexError, "IncSubtensor"
    ),
    Failure("values_do_not_fit", lambda x, y: x[1:].set(y), (_array(4), _array(2)), ValueError, "SetSubtensor"),
    Failure(
        "a_condition_is_false",
        lambda x: tt.Assert("positive")(x, x.min() > 1),
        (_array(3),),
        AssertionError,
        "positive",
    ),
    Failure("range_never_ends", tt.arange, (_number(0), _number(3), _number(0)), ValueError, "ARange"),
)


def run_failure(backend: str, failure: Failure, rewritten: bool = False) -> str:
    """Check that a call raises the right error on a backend, and return its message.

    Parameters
    ----------
    backend
        Name of an installed backend.
    failure
        The call.
    rewritten
        Whether to compile through `treadle.compile.function`, rewriting included.

    Raises
    ------
    ContractError
        If no error or one of another class is raised, or if its message does not name the op and the user's line.
    """
    variables = [tt.tensor(f"x{i}", dtype=x.dtype, ndim=x.ndim) for i, x in enumerate(failure.arrays)]
    run = (compiled if rewritten else linked)(backend, variables, [_built_by_a_user(failure.build, variables)])
    try:
        result = run(*failure.arrays)
    except NodeError as error:
        return _checked(backend, failure, error)
    except Exception as error:
        msg = f"{backend}: {failure} must raise a NodeError that names the op, got {type(error).__name__}: {error}"
        raise ContractError(msg) from error
    msg = f"{backend}: {failure} must raise {failure.error}, but the call returned {result!r}."
    raise ContractError(msg)


# The file of the user's line in graphs of failures.
USER_FILE, USER_LINE = "<contract>", 41


def _built_by_a_user(build: Callable[..., TensorVariable], variables: list[TensorVariable]) -> TensorVariable:
    """Build the graph at a line that always counts as the user's."""
    scope: dict[str, Any] = {"build": build, "variables": variables}
    exec(compile("\n" * (USER_LINE - 1) + "result = build(*variables)", USER_FILE, "exec"), scope)
    result: TensorVariable = scope["result"]
    return result


def _checked(backend: str, failure: Failure, error: NodeError) -> str:
    text = str(error)
    wrong = [] if isinstance(error, failure.error) else [f"it is no {failure.error}"]
    wrong += [] if failure.op in text else [f"it does not name {failure.op}"]
    wrong += [] if f"built at {USER_FILE}:{USER_LINE}" in text else ["it does not name the user's line"]
    if wrong:
        msg = f"{backend}: the error of {failure} is not right: {', '.join(wrong)}: {type(error).__name__}: {text}"
        raise ContractError(msg) from error
    return text
