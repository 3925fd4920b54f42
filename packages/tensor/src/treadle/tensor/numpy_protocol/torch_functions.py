"""PyTorch's operators and elementwise functions on tensors: ``tensor + x`` and ``torch.exp(x)`` build expressions.

PyTorch asks its operands what a call means, as NumPy does (``__torch_function__``). Operators and functions of each
element are applied; others have parameters of their own, and are refused by name.
"""

from __future__ import annotations

import operator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.errors import NumpyFunctionError
from treadle.tensor.numpy_protocol.names import function_of
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# By PyTorch's names, the operators' methods under those of their functions.
_OPERATORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "add": operator.add,
        "sub": operator.sub,
        "subtract": operator.sub,
        "mul": operator.mul,
        "multiply": operator.mul,
        "div": operator.truediv,
        "divide": operator.truediv,
        "true_divide": operator.truediv,
        "truediv": operator.truediv,
        "floor_divide": operator.floordiv,
        "floordiv": operator.floordiv,
        "remainder": operator.mod,
        "mod": operator.mod,
        "pow": operator.pow,
        "matmul": operator.matmul,
        "mm": operator.matmul,
        "and": operator.and_,
        "bitwise_and": operator.and_,
        "or": operator.or_,
        "bitwise_or": operator.or_,
        "xor": operator.xor,
        "bitwise_xor": operator.xor,
        "lt": operator.lt,
        "le": operator.le,
        "gt": operator.gt,
        "ge": operator.ge,
        "neg": operator.neg,
        "getitem": operator.getitem,
    }
)
# Functions of each element that treadle has under another name.
_NAMES: Mapping[str, str] = MappingProxyType({"eq": "equal", "ne": "not_equal"})


def torch_function(func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """Return what a function of PyTorch's, or an operator of its tensors, means for tensors of treadle.

    Raises
    ------
    NumpyFunctionError
        If it is neither an operator nor a function of each element.
    """
    name = getattr(func, "__name__", str(func))
    plain = name.strip("_") if name.startswith("__") else name
    operands = [as_tensor_variable(x) for x in args[:1]] + list(args[1:])  # type: ignore[arg-type]  # or it is refused
    if not kwargs:
        if plain in _OPERATORS:
            return _OPERATORS[plain](*operands)
        if name.startswith("__r") and plain[1:] in _OPERATORS:
            return _OPERATORS[plain[1:]](as_tensor_variable(args[1]), operands[0])  # type: ignore[arg-type]  # as above
        function = function_of(_NAMES.get(plain, plain))
        if isinstance(function, Elemwise) and len(args) == function.nin:
            return function(*args)
    msg = (
        f"torch.{name}: of these functions, symbolic tensors take operators and those of each element, with operands "
        "only. Look for a function like it in treadle.tensor; a value is computed by x.eval()."
    )
    raise NumpyFunctionError(msg)


__all__: list[str] = []
