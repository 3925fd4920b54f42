"""wrap_py: a Python function of arrays as an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph import (
    Apply,
    GraphTypeError,
    GraphValueError,
    MethodNotDefinedError,
    Op,
    Type,
    Variable,
    call_infer_shape,
    reduce_by_place,
)
from treadle.tensor.conversion import as_tensor_variable
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class FromFunctionOp(Op):
    """An op that calls a Python function; `wrap_py` makes it.

    Two of them are equal if they call the same function and have the same types.

    Parameters
    ----------
    fn
        The function: takes one array for each input, returns one value, or a list or tuple of several.
    itypes, otypes
        Types of inputs and outputs.
    infer_shape
        ``infer_shape(node, input_shapes)`` returns the shapes of the outputs; unknown if None.
    pullback
        ``pullback(inputs, outputs, cotangents)`` returns a gradient, as a variable or None, for each input.
    """

    def __init__(
        self,
        fn: Any,
        itypes: Sequence[Any],
        otypes: Sequence[Any],
        infer_shape: Any = None,
        pullback: Any = None,
    ) -> None:
        if not callable(fn):
            msg = f"wrap_py: a function is needed, got {text_of(fn)}. Use wrap_py as a decorator of a function."
            raise GraphTypeError(msg)
        for name, given in (("infer_shape", infer_shape), ("pullback", pullback)):
            if given is not None and not callable(given):
                msg = f"wrap_py: {name} must be a function, got {text_of(given)}. Leave it out, or pass one."
                raise GraphTypeError(msg)
        self.itypes = _types("itypes", itypes)
        self.otypes = _types("otypes", otypes)
        self.fn = fn
        self.given_infer_shape = infer_shape
        self.given_pullback = pullback

    @property
    def __wrapped__(self) -> Any:
        """The function, under the name that ``inspect`` looks for."""
        return self.fn

    def as_input(self, value: Any) -> Variable:
        """Return a tensor variable."""
        return value if isinstance(value, Variable) else as_tensor_variable(value)

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node; plain values become constants of the input's type."""
        wanted: Sequence[Any] = self.itypes or ()
        if len(inputs) != len(wanted):
            msg = f"{self}: {len(wanted)} inputs are needed, got {len(inputs)}. Pass one for each of the itypes."
            raise GraphValueError(msg)
        variables = [
            as_tensor_variable(kind.filter(x)) if isinstance(kind, TensorType) and not isinstance(x, Variable) else x
            for kind, x in zip(wanted, inputs, strict=True)
        ]
        return super().make_node(*variables)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Call the function, and check what it returns.

        Raises
        ------
        GraphValueError
            If it returns another number of values than there are otypes.
        GraphTypeError
            If one of them is not of its type, and cannot be made one without loss.
        """
        found = self.values_of(inputs)
        for i, (out, value, cell) in enumerate(zip(node.outputs, found, output_storage, strict=True)):
            # A function may hand its argument, or a part of it, through, or one value twice.
            others = (*inputs, *found[:i])
            shared = any(out.type.may_share_memory(value, x) for x in others)
            cell[0] = out.type.copy_value(value) if shared else value

    def values_of(self, inputs: Sequence[Any]) -> list[Any]:
        """Return what the function makes of values, as values of the otypes; they may share memory with anything.

        Raises
        ------
        GraphValueError
            If it returns another number of values than there are otypes.
        GraphTypeError
            If one of them is not of its type, and cannot be made one without loss.
        """
        wanted: Sequence[Any] = self.otypes or ()
        found = self.fn(*inputs)
        values = list(found) if isinstance(found, list | tuple) else [found]
        if len(values) != len(wanted):
            msg = f"the function must return {len(wanted)} values, it returned {len(values)}"
            raise GraphValueError(msg)
        made = []
        for i, (kind, value) in enumerate(zip(wanted, values, strict=True)):
            try:
                made.append(kind.filter(value))
            except (TypeError, ValueError) as error:
                msg = f"the function's value {i} does not fit its otype: {error}"
                raise GraphTypeError(msg) from error
        return made

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any] | None:
        """Return what the function given says."""
        if self.given_infer_shape is None:
            return None
        return call_infer_shape(self.given_infer_shape, None, node, shapes)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return what the function given says.

        Raises
        ------
        MethodNotDefinedError
            If none was given.
        """
        if self.given_pullback is None:
            msg = f"{self}: the function has no gradient. Pass one: wrap_py(itypes, otypes, pullback=...)."
            raise MethodNotDefinedError(msg)
        found = self.given_pullback(list(inputs), list(outputs), list(cotangents))
        return [found] if isinstance(found, Variable) or found is None else list(found)

    # Identity

    def _key(self) -> tuple[Any, ...]:
        kinds = (tuple(self.itypes or ()), tuple(self.otypes or ()))
        return (type(self), self.fn, *kinds, self.given_infer_shape, self.given_pullback)

    def __eq__(self, other: object) -> bool:
        """Compare functions by identity: one of the same name may be another."""
        return self is other or (isinstance(other, FromFunctionOp) and self._key() == other._key())

    def __hash__(self) -> int:
        """Hash what `__eq__` compares."""
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a decorated function by the place where it is defined, any other with its parts."""
        return reduce_by_place(
            self, self.fn, type(self), self.fn, self.itypes, self.otypes, self.given_infer_shape, self.given_pullback
        )

    def __str__(self) -> str:
        """Show the function's name."""
        return f"FromFunctionOp{{{getattr(self.fn, '__name__', self.fn)}}}"

    __repr__ = __str__


def _types(what: str, given: Any) -> list[Type]:
    """Return types, given as types or as functions that make variables of them.

    Raises
    ------
    GraphTypeError
        If something else is given.
    """
    items = list(given) if isinstance(given, list | tuple) else [given]
    found = []
    for item in items:
        made = item() if callable(item) and not isinstance(item, Type) else item
        kind = made.type if isinstance(made, Variable) else made
        if not isinstance(kind, Type):
            msg = f"wrap_py: {what} must be types, got {text_of(item)}. Name types such as treadle.tensor.dvector."
            raise GraphTypeError(msg)
        found.append(kind)
    return found


def wrap_py(
    itypes: Any,
    otypes: Any,
    infer_shape: Callable[..., Any] | None = None,
    *,
    pullback: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], FromFunctionOp]:
    """Return a decorator that makes an op of a Python function.

    The op runs in Python: on the Python VM, and as a step between compiled stretches in the default mode. Modes that
    compile the whole graph (C, NUMBA, JAX, PYTORCH) refuse it.

    Parameters
    ----------
    itypes
        Type of each input: a list of types, or of functions such as ``dvector`` that make variables; or a single one.
    otypes
        Type of each output, in the same way.
    infer_shape
        ``infer_shape(node, input_shapes)`` returns a shape for each output.
    pullback
        ``pullback(inputs, outputs, cotangents)`` returns a gradient for each input; there is none if None.

    Raises
    ------
    GraphTypeError
        If types are no types, or something else than a function is given for one.

    Notes
    -----
    The function must depend on its arguments alone, and leave them as they are. The op pickles if the function does.

    Examples
    --------
    >>> import numpy as np
    >>> from treadle.tensor import dvector, wrap_py
    >>> @wrap_py(itypes=[dvector], otypes=[dvector])
    ... def smoothed(x):
    ...     return np.convolve(x, [0.5, 0.5], "same")
    >>> x = dvector("x")
    >>> smoothed(x).eval({x: [2.0, 4.0, 6.0]}).tolist()
    [1.0, 3.0, 5.0]
    """

    def decorate(function: Callable[..., Any]) -> FromFunctionOp:
        return FromFunctionOp(function, itypes, otypes, infer_shape, pullback)

    return decorate


as_op = wrap_py
