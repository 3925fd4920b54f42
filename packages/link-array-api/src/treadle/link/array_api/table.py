"""The tables of rules: a rule lowers a node to a function of arrays, written with the standard's functions only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeAlias

from treadle.graph import LoweringTable
from treadle.tensor import ScalarOp, ScalarTable

# An array of the library at hand, which the standard gives no class.
Array: TypeAlias = Any
Lowered: TypeAlias = Callable[..., Any]
# Returns the function of a namespace that computes a scalar op.
Kernel: TypeAlias = Callable[[Any], Callable[..., Array]]


def _load() -> None:
    from treadle.tensor import load_families

    load_families("treadle.link.array_api.lower")


# A rule ``rule(op, node)`` returns a function of arrays of the library that `treadle.link.array_api.libraries.library`
# returns then, one for each input of the node, to one array, or a tuple of them for several outputs. It may raise
# where values are invalid: the graph is then run again on the Python VM, which says why.
ARRAY_API = LoweringTable("array_api", _load)

# What NumPy calls otherwise than the standard does.
_STANDARD_NAMES = {
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "atan2",
}
_ELEMENTARY = {
    *("exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *_STANDARD_NAMES,
}


def _of_ufunc(name: str, kind: str) -> Kernel | None:
    """Return the standard's function for an elementary function, which floats have, and complex numbers."""
    if name not in _ELEMENTARY or kind not in "fc":
        return None
    return named(_STANDARD_NAMES.get(name, name))


def named(name: str) -> Kernel:
    """Return what takes a function from a namespace by its name."""

    def of(xp: Any) -> Callable[..., Array]:
        function: Callable[..., Array] = getattr(xp, name)
        return function

    return of


# The kind is that of the last operand's dtype.
SCALARS: ScalarTable[Kernel] = ScalarTable("array_api", "treadle.link.array_api.lower.elementwise.scalar", _of_ufunc)


def _kind(loops: Sequence[str]) -> str:
    return {"b": "b", "i": "i", "u": "u", "f": "f", "c": "c"}[loops[-1][0]]


# Where libraries keep the special functions, which the standard leaves to them.
_SPECIAL = MappingProxyType(
    {
        "numpy": "scipy.special",
        "cupy": "cupyx.scipy.special",
        "array_api_compat.cupy": "cupyx.scipy.special",
        "array_api_compat.torch": "torch.special",
        "jax.numpy": "jax.scipy.special",
    }
)


def special_of(xp: Any) -> Any:
    """Return the module of a library's special functions.

    Raises
    ------
    AttributeError
        If it is not known to have one: the functions then are not there.
    """
    name = _SPECIAL.get(xp.__name__)
    if name is None:
        msg = f"{xp.__name__} has no special functions"
        raise AttributeError(msg)
    return import_module(name)


def kernel_of(scalar_op: ScalarOp, loops: Sequence[str], xp: Any) -> Callable[..., Array] | None:
    """Return the function of a namespace for a scalar op and dtypes to compute with; None if it has none."""
    kernel = SCALARS.find(scalar_op, _kind(loops))
    try:
        return None if kernel is None else kernel(xp)
    except AttributeError:
        return None


def copied(xp: Any) -> Callable[[Array], Array]:
    """Return what makes a copy: results of elementwise functions are arrays of their own."""
    return lambda x: xp.asarray(x, copy=True)
