"""The C types of tensor dtypes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from treadle.config import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.tensor import TensorVariable


@dataclass(frozen=True, slots=True)
class CType:
    """How C stores values of one dtype and computes with them."""

    # Short name, part of the names of helper functions: ``f64``, ``i8`` …
    short: str
    # C type of an element in memory.
    stored: str
    # C type to compute with; float16 is computed in float and rounded after every step.
    computed: str
    # The size of an element in memory, in bytes.
    size: int
    # NumPy's kind: ``b``, ``i``, ``u``, ``f`` or ``c``.
    kind: str
    # Suffix of C's math functions: ``f`` for single precision.
    suffix: str = ""

    @property
    def alignment(self) -> int:
        """The alignment of elements in bytes: for a complex number, that of its real part."""
        return self.size // 2 if self.kind == "c" else self.size

    @property
    def math(self) -> str:
        """The short name of the type that math functions compute in."""
        return "f32" if self.short == "f16" else self.short


CTYPES: Mapping[str, CType] = MappingProxyType(
    {
        "bool": CType("b", "uint8_t", "uint8_t", 1, "b"),
        "int8": CType("i8", "int8_t", "int8_t", 1, "i"),
        "int16": CType("i16", "int16_t", "int16_t", 2, "i"),
        "int32": CType("i32", "int32_t", "int32_t", 4, "i"),
        "int64": CType("i64", "int64_t", "int64_t", 8, "i"),
        "uint8": CType("u8", "uint8_t", "uint8_t", 1, "u"),
        "uint16": CType("u16", "uint16_t", "uint16_t", 2, "u"),
        "uint32": CType("u32", "uint32_t", "uint32_t", 4, "u"),
        "uint64": CType("u64", "uint64_t", "uint64_t", 8, "u"),
        "float16": CType("f16", "uint16_t", "float", 2, "f", "f"),
        "float32": CType("f32", "float", "float", 4, "f", "f"),
        "float64": CType("f64", "double", "double", 8, "f"),
        "complex64": CType("c64", "float _Complex", "float _Complex", 8, "c", "f"),
        "complex128": CType("c128", "double _Complex", "double _Complex", 16, "c"),
    }
)


def ctype(var: TensorVariable) -> CType:
    """Return the C type of a variable's elements."""
    return CTYPES[var.type.dtype]


def loaded(dtype: str, place: str) -> str:
    """Return the C expression that converts an element in memory to the type to compute with."""
    return f"tr_f16_to_f32({place})" if dtype == "float16" else place


def stored(dtype: str, value: str) -> str:
    """Return the C expression that converts a computed value to the type of an element in memory."""
    return f"tr_f32_to_f16({value})" if dtype == "float16" else value


def converted(source: str, target: str, value: str) -> str:
    """Return the C expression that converts a computed value from one dtype to another, as NumPy's astype."""
    if source == target:
        return value
    if target == "bool":
        return f"({value} != 0)"
    if source == "bool" and CTYPES[target].kind == "f":
        # Of a comparison, gcc makes no vectors without this.
        return f"(({CTYPES[target].computed})({value} != 0))"
    if target == "float16":
        return f"tr_f32_round_f16({to_round(value, source)})" if CTYPES[source].size > 1 else f"((float){value})"
    if CTYPES[source].kind == "f" and CTYPES[target].kind in "iu":
        return _cut(CTYPES[source].computed, target, value)
    return f"(({CTYPES[target].computed}){value})"


def to_round(value: str, source: str) -> str:
    """Return the C expression of the float whose nearest float16 is that of a computed value of a dtype."""
    is_exact = source == "float32" or CTYPES[source].size < 4
    return f"((float){value})" if is_exact else f"tr_f64_to_odd({value})"


def _cut(source: str, target: str, value: str) -> str:
    """Return the C expression of a float as an integer.

    C leaves undefined what does not fit. As in NumPy, short and unsigned integers wrap around, wherever the number
    stands; compilers take a conversion and the one back for a function that rounds, and the way by a longer integer
    keeps them from it.
    """
    if target == "uint64":
        return f"tr_f64_to_u64({value})"
    if target in {"int32", "int64"}:
        return f"tr_{'f32' if source == 'float' else 'f64'}_to_{CTYPES[target].short}({value})"
    return f"(({CTYPES[target].computed})({'int64_t' if target == 'uint32' else 'int32_t'}){value})"
