"""What rooms ask of rooms above them, in one list: rooms import downward only.

A room that needs something from above calls it as an attribute of `upward`. `treadle.tensor.wiring`, which may import
every room, says what each one is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import UpwardCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph import Variable
    from treadle.tensor.numpy_protocol.functions import Ufunc
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


class Upward(UpwardCalls):
    """Functions of rooms above, each declared with the reason why it is asked for from below."""

    # The public function of a name: variables have methods for many of them.
    function: Callable[[str], Any]
    # A nested list that holds variables becomes a tensor by an op on tensors.
    stack: Callable[[Sequence[TensorLike]], TensorVariable]
    # A type checks at run time, by an op, what it knows of a shape and a variable's type does not.
    specify_shape: Callable[[Variable, Sequence[int | None]], TensorVariable]
    # A recurrence is a loop where a backend has nothing better.
    scan_with_carry: Callable[..., tuple[Any, Any]]
    # The derivative of a product is an op with derivatives of its own, made of a graph of reductions.
    product_of_others: Callable[[TensorVariable, Sequence[TensorVariable], tuple[int, ...]], TensorVariable]
    # What flows back to a scalar that was broadcast is summed by a reduction, which is made of elementwise functions.
    summed_along: Callable[[TensorVariable, Sequence[int]], TensorVariable]
    # Variables handed to NumPy's functions (NEP 13 and 18).
    array_ufunc: Callable[[Ufunc, str, Sequence[TensorLike], Mapping[str, Any]], object]
    array_function: Callable[[Callable[..., object], Iterable[type], Sequence[object], Mapping[str, object]], object]
    # Variables handed to PyTorch's functions.
    torch_function: Callable[[Callable[..., object], Sequence[object], Mapping[str, object]], object]
    # Printing shows the facts that rewriting knows of a variable.
    fact_reader: Callable[[], Callable[[Variable], Iterable[str]]]


upward = Upward()
