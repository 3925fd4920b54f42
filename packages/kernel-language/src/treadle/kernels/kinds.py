"""The types of kernels: elements in memory, and the values that a kernel computes with.

Elements have NumPy's dtypes. Values are of fewer kinds: all integers but uint64 are int64 once they are loaded, and
wrap to their size when they are stored; float16 is computed as float32 and rounded when it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Short names of dtypes, for the names of specialised kernels.
SHORT: Mapping[str, str] = MappingProxyType(
    {
        "bool": "b", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
        "uint32": "u32", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c64",
        "complex128": "c128", "float32x8": "f32x8", "float64x8": "f64x8",
    }
)  # fmt: skip
SIZES: Mapping[str, int] = MappingProxyType(
    {
        dtype: 1 if dtype == "bool" else int(short[1:].removesuffix("x8")) // (1 if short.endswith("x8") else 8)
        for dtype, short in SHORT.items()
    }
)
# Eight numbers, one of each of eight matrices, that are computed with at once; comparisons of them are masks.
EIGHTS: Mapping[str, str] = MappingProxyType({"float32": "float32x8", "float64": "float64x8"})
NUMBERS: Mapping[str, str] = MappingProxyType({eight: one for one, eight in EIGHTS.items()})
MASKS: Mapping[str, str] = MappingProxyType({"float32x8": "mask32x8", "float64x8": "mask64x8"})
REAL: Mapping[str, str] = MappingProxyType({"complex64": "float32", "complex128": "float64"})
COMPLEX: Mapping[str, str] = MappingProxyType({real: kind for kind, real in REAL.items()})
# The kinds of number literals, which take the kind of what they meet.
WEAK = frozenset({"int", "float"})
INTEGERS = frozenset({"int64", "uint64"})
FLOATS = frozenset({"float32", "float64"})
_VALUES = {"bool": "bool", "uint64": "uint64", "float16": "float32"}


def value_kind(dtype: str) -> str:
    """Return the kind of an element's value.

    >>> value_kind("int32"), value_kind("float16"), value_kind("complex64")
    ('int64', 'float32', 'complex64')
    """
    return _VALUES.get(dtype) or ("int64" if "int" in dtype else dtype)


def real_dtype(dtype: str) -> str:
    """Return the dtype of real numbers of the same precision."""
    return REAL.get(dtype, dtype)


def is_pointer(kind: str) -> bool:
    """Whether the kind of an expression is a pointer's: ``*float64``."""
    return kind.startswith("*")


def is_vector(kind: str) -> bool:
    """Whether the kind of an expression is a vector's: ``[float64]``."""
    return kind.startswith("[")


def shown(kind: str) -> str:
    """Return how messages show a kind."""
    if is_vector(kind):
        return f"a vector of {kind[1:-1]}"
    return f"a pointer to {kind[1:]}" if is_pointer(kind) else kind
