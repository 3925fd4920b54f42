"""The types of C that elements in memory and values of kernels have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from treadle.kernels.kinds import MASKS, NUMBERS, is_pointer, is_vector
from treadle.kernels.printing.c_vectors import eight_type, vector_type

_STORED: Mapping[str, str] = MappingProxyType(
    {
        "bool": "uint8_t", "float16": "uint16_t", "float32": "float", "float64": "double",
        "complex64": "float _Complex", "complex128": "double _Complex",
    }
)  # fmt: skip


def stored_type(dtype: str) -> str:
    """Return the C type of an element in memory."""
    if dtype in NUMBERS or dtype in MASKS.values():
        return eight_type(dtype)
    return _STORED.get(dtype, f"{dtype}_t")


def value_type(kind: str) -> str:
    """Return the C type of values of a kind."""
    if is_pointer(kind):
        return f"{stored_type(kind[1:])} *"
    if is_vector(kind):
        return vector_type(kind)
    return "int" if kind == "bool" else stored_type(kind)
