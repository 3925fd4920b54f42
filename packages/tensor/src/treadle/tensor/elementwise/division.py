"""What ``/`` means between integers, as the option int_division says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import config, warn_user
from treadle.graph import Variable, is_composing
from treadle.tensor.elementwise.arithmetic import floor_div, true_div
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import IntegerDivisionError
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


def _is_integer(x: object) -> bool:
    """Whether an operand holds integers, or truth values, which count as such."""
    if isinstance(x, Variable):
        return isinstance(x.type, TensorType) and x.type.numpy_dtype.kind in "biu"
    return isinstance(x, int | list | tuple | np.ndarray | np.generic) and np.asarray(x).dtype.kind in "biu"


def quotient(x: TensorLike, y: TensorLike) -> TensorVariable:
    """Return ``x / y``; the option int_division may refuse it where both hold integers."""
    policy = config.int_division
    result: TensorVariable
    if policy == "true" or not (_is_integer(x) and _is_integer(y) and not is_composing()):
        result = true_div(x, y)
    elif policy == "floatX":
        result = true_div(cast(x, "floatX"), cast(y, "floatX"))
    elif policy == "int":
        text = "int_division: x / y of two integers is x // y here, which is deprecated. Write x // y."
        warn_user(text, DeprecationWarning)
        result = floor_div(x, y)
    else:
        msg = (
            f"int_division: x / y of two integers, {x} and {y}, is refused while the option is 'raise'. Write x // y, "
            "true_div(x, y), or cast one of them to a float."
        )
        raise IntegerDivisionError(msg)
    return result
