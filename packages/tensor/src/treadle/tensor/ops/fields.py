"""The fields of ops in one form, so that equal parameters make equal ops whichever way they are spelled."""

from __future__ import annotations

from treadle.tensor.arguments.axes import named_axes
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.types.tensor_type import DTYPES, TensorType

_NAMES = frozenset(DTYPES)
_PLAIN = frozenset((int, str))


def fix_dtypes(op: object, *names: str) -> None:
    """Make fields names of dtypes, where an op was given NumPy's dtypes or classes."""
    for name in names:
        value = getattr(op, name)
        if type(value) is not str or value not in _NAMES:
            object.__setattr__(op, name, TensorType(value).dtype)


def fix_integers(op: object, *names: str) -> None:
    """Make fields Python integers, where an op was given NumPy's."""
    for name in names:
        value = getattr(op, name)
        if type(value) is not int:
            object.__setattr__(op, name, as_integer(f"{type(op).__name__}: {name}", value))


def fix_axes(op: object, name: str = "axes") -> None:
    """Make a field a tuple of Python integers, and texts where the op knows what they mean."""
    value = getattr(op, name)
    if type(value) is not tuple or not _PLAIN.issuperset(map(type, value)):
        what = f"{type(op).__name__}: {name}"
        axes = tuple(str(a) if isinstance(a, str) else as_integer(what, a) for a in named_axes(value))
        object.__setattr__(op, name, axes)
