"""Thunks, callables without arguments that compute a node on storage cells, and the types of what they compute with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from treadle.config import lazy_module
from treadle.graph.diagnostics.failure import note_op
from treadle.graph.errors import GraphTypeError

if TYPE_CHECKING:
    import inspect

    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable
else:
    inspect = lazy_module("inspect")

# The value of a variable while a program runs; its class depends on the variable's type.
Value: TypeAlias = Any

# A list of one element: where thunks and `Op.perform` put a value.
Cell: TypeAlias = list[Value]

# Computes a node: takes one value for each input, returns the output's value or a tuple of several.
Compute: TypeAlias = Callable[..., Value]

# The lengths of a variable's dimensions, integers where they are known.
SymbolicShape: TypeAlias = "Sequence[int | Variable]"

StorageMap = dict["Variable", list[Any]]
ComputeMap = dict["Variable", list[bool]]


class ThunkType(Protocol):
    """The type of thunks, which `Op.make_thunk` returns.

    Attributes
    ----------
    inputs, outputs
        The storage cells it reads and fills.
    lazy
        True: it reads the flags of the compute map, and a call returns the positions of the inputs that it needs
        before it can go on, or nothing once the outputs are there. False: it is called when all inputs are there.
    """

    inputs: list[Cell]
    outputs: list[Cell]
    lazy: bool

    def __call__(self) -> Any:
        """Compute the node."""
        ...


def is_thunk_type(thunk: Callable[[], object]) -> ThunkType:
    """Return the callable under the type `ThunkType`, so that its attributes can be set (documented name).

    Raises
    ------
    GraphTypeError
        If it is not callable.
    """
    unchecked: object = thunk
    if not callable(unchecked):
        msg = f"thunk: a callable without arguments is needed, got {thunk!r}. Return a function from make_thunk."
        raise GraphTypeError(msg)
    return cast("ThunkType", thunk)


def made_thunk(
    node: Apply,
    storage_map: StorageMap,
    compute_map: ComputeMap | None,
    no_recycling: Sequence[Variable],
    impl: str | None = None,
) -> ThunkType:
    """Call an op's `make_thunk` for a node (parameters as for the method).

    `impl` is always passed, unless the method does not know it.

    Raises
    ------
    Exception
        What the method raises, with a note of the op and the user's line; GraphTypeError if it returns no callable.
    """
    op = node.op
    options = {"impl": impl} if _takes_impl(type(op).make_thunk) else {}
    try:
        return is_thunk_type(op.make_thunk(node, storage_map, compute_map, no_recycling, **options))
    except Exception as error:
        note_op(error, op, "make_thunk", node.where())
        raise


def _takes_impl(method: object) -> bool:
    """Whether a method takes the argument ``impl``, by name or among others."""
    code = getattr(method, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return True
    return "impl" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def prepare(node: Apply) -> None:
    """Let an op prepare a node that is run without cells; what fails gets a note of the op and the user's line."""
    try:
        node.op.prepare_node(node, None, None, "py")
    except Exception as error:
        note_op(error, node.op, "prepare_node", node.where())
        raise
