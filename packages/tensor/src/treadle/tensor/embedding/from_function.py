"""wrap_py: a Python function of arrays as an op."""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.config import alias, text_of
from treadle.graph import (
    Apply,
    GraphTypeError,
    MethodNotDefinedError,
    Op,
    Type,
    Variable,
    call_infer_shape,
    reduce_by_place,
    vectorize_graph,
)
from treadle.tensor.embedding.external_op import Batched, ExternalOp
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from treadle.graph import Compute, SymbolicShape
    from treadle.tensor.ops.tensor_op import Derivatives, Variables

    Shapes = Sequence[SymbolicShape | None]
    # What `wrap_py` takes as types: one or several, or functions such as ``dvector`` that make variables of one.
    Declared = Type | Callable[[], Variable]
    Pullback = Callable[..., Variable | Sequence[Variable | None] | None]

__all__ = ["FromFunctionOp", "as_op", "wrap_py"]


class FromFunctionOp(ExternalOp["np.ndarray"]):
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

    library = "py"
    exact = False
    # Of functions that a module holds under their name, by which other processes find them too.
    __props__: ClassVar[tuple[str, ...] | None] = (
        *("function", "itypes", "otypes", "given_infer_shape", "given_pullback"),
    )
    # The user's gradient may flow anywhere.
    connection_pattern = Op.connection_pattern

    def __init__(
        self, fn: Any, itypes: object, otypes: object, infer_shape: object = None, pullback: object = None
    ) -> None:
        if not callable(fn):
            msg = f"wrap_py: a function is needed, got {text_of(fn)}. Use wrap_py as a decorator of a function."
            raise GraphTypeError(msg)
        super().__init__(_types("itypes", itypes), _types("otypes", otypes), fn, getattr(fn, "__name__", str(fn)))
        self.given_infer_shape = _function_or_none("infer_shape", infer_shape)
        self.given_pullback = _function_or_none("pullback", pullback)

    @property
    def fn(self) -> Compute:
        """The function, under its documented name."""
        return self.function

    # Under the name that ``inspect`` looks for.
    __wrapped__ = fn

    def call(self, *arrays: np.ndarray) -> Sequence[object]:
        """Return the function's results."""
        returned = self.function(*arrays)
        return returned if isinstance(returned, list | tuple) else [returned]

    def apply(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Return the results as values of the otypes; a batch is made of such."""
        return self.values(*arrays)

    def infer_shape(self, node: Apply, shapes: Shapes) -> Shapes | None:
        """Return what the function given says."""
        if self.given_infer_shape is None:
            return None
        return call_infer_shape(self.given_infer_shape, None, node, shapes)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return what the function given says.

        Raises
        ------
        MethodNotDefinedError
            If none was given.
        """
        if self.given_pullback is None:
            msg = f"{self}: the function has no gradient. Pass one: wrap_py(itypes, otypes, pullback=...)."
            raise MethodNotDefinedError(msg)
        gradients = self.given_pullback(list(inputs), list(outputs), list(cotangents))
        return [gradients] if isinstance(gradients, Variable) or gradients is None else list(gradients)

    def over_batch(self, batch: Batched[np.ndarray], itypes: Sequence[Type], otypes: Sequence[Type]) -> FromFunctionOp:
        """Return the op that calls the function for each element of a batch."""
        pullback = None if self.given_pullback is None else BatchedPullback(self)
        return FromFunctionOp(batch, itypes, otypes, pullback=pullback)

    # Identity

    def _key(self) -> tuple[object, ...]:
        kinds = (tuple(self.itypes), tuple(self.otypes))
        return (type(self), self.function, *kinds, self.given_infer_shape, self.given_pullback)

    def __eq__(self, other: object) -> bool:
        """Compare functions by identity: one of the same name may be another."""
        return self is other or (isinstance(other, FromFunctionOp) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle a decorated function by the place where it is defined, any other with its parts."""
        parts = (self.function, self.itypes, self.otypes, self.given_infer_shape, self.given_pullback)
        return reduce_by_place(self, self.function, type(self), *parts)


class BatchedPullback:
    """The gradient of an op along a batch, for inputs that all have it: the op's own, vectorised."""

    __slots__ = ("op",)

    def __init__(self, op: FromFunctionOp) -> None:
        self.op = op

    def __call__(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable | None]:
        """Return the gradients."""
        x, y, by = (
            [kind.make_variable() for kind in kinds] for kinds in (self.op.itypes, self.op.otypes, self.op.otypes)
        )
        terms = self.op.pullback(x, y, by)
        defined = [term for term in terms if term is not None and isinstance(term.type, TensorType)]
        pairs = list(zip((*x, *y, *by), (*inputs, *outputs, *cotangents), strict=True))
        widened = dict(zip(defined, vectorize_graph(defined, pairs), strict=True))
        return [None if term is None else widened.get(term, term) for term in terms]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchedPullback) and self.op == other.op

    def __hash__(self) -> int:
        return hash(self.op)


def _function_or_none(what: str, argument: Any) -> Compute | None:
    if argument is None or callable(argument):
        function: Compute | None = argument
        return function
    msg = f"wrap_py: {what} must be a function, got {text_of(argument)}. Leave it out, or pass one."
    raise GraphTypeError(msg)


def _types(what: str, argument: object) -> list[Type]:
    """Return types, given as types or as functions that make variables of them."""
    items: list[Any] = list(argument) if isinstance(argument, list | tuple) else [argument]
    kinds = []
    for item in items:
        entry = item() if callable(item) and not isinstance(item, type | Type | BuiltinFunctionType) else item
        kind = entry.type if isinstance(entry, Variable) else entry
        if not isinstance(kind, Type):
            msg = f"wrap_py: {what} must be types, got {text_of(item)}. Name types such as treadle.tensor.dvector."
            raise GraphTypeError(msg)
        kinds.append(kind)
    return kinds


def wrap_py(
    itypes: Declared | Sequence[Declared],
    otypes: Declared | Sequence[Declared],
    infer_shape: Callable[..., Sequence[object]] | None = None,
    *,
    pullback: Pullback | None = None,
) -> Callable[[Callable[..., object]], FromFunctionOp]:
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
        If types are not types, or something else than a function is given for one.

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
    takes, makes = _types("itypes", itypes), _types("otypes", otypes)
    shape, back = _function_or_none("infer_shape", infer_shape), _function_or_none("pullback", pullback)

    def decorate(function: Callable[..., object]) -> FromFunctionOp:
        return FromFunctionOp(function, takes, makes, shape, back)

    return decorate


as_op = alias(wrap_py, "as_op")
