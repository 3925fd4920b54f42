"""How generated code stores each dtype and computes with it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from treadle.config import dataclass


@dataclass(frozen=True, slots=True)
class Storage:
    """One dtype in generated code."""

    # Its name.
    dtype: str
    # Code of the value in a register: the kind and the size in bytes.
    code: str
    # NumPy's kind of the dtype: ``b``, ``i``, ``u``, ``f`` or ``c``.
    kind: str
    # Code of an element in memory, where bool is a byte and float16 an integer of 16 bits.
    memory: str
    # Size of an element in bytes.
    itemsize: int

    @property
    def real(self) -> str:
        """Code of the real and imaginary parts of a complex dtype; for other dtypes, `code`."""
        return {"c8": "f4", "c16": "f8"}.get(self.code, self.code)

    @property
    def shift(self) -> int:
        """Binary logarithm of the size in bytes."""
        return self.itemsize.bit_length() - 1

    def loaded(self, text: str) -> str:
        """Return the expression that converts an element in memory to a value in a register."""
        if self.dtype == "bool":
            return f"({text} != 0)"
        return f"widen_f2({text})" if self.dtype == "float16" else text

    def first(self, address: str) -> str:
        """Return the expression of the value of the element at an address."""
        return self.loaded(f"as_{self.memory}({address})[0]")

    def stored(self, text: str) -> str:
        """Return the expression that converts a value in a register to an element in memory."""
        if self.dtype == "bool":
            return f"u1({text})"
        return f"narrow_f2({text})" if self.dtype == "float16" else text


# All dtypes that the backend has, by name.
STORAGES: Mapping[str, Storage] = MappingProxyType(
    {
        s.dtype: s
        for s in (
            Storage("bool", "b1", "b", "u1", 1),
            *(Storage(f"int{8 * n}", f"i{n}", "i", f"i{n}", n) for n in (1, 2, 4, 8)),
            *(Storage(f"uint{8 * n}", f"u{n}", "u", f"u{n}", n) for n in (1, 2, 4, 8)),
            Storage("float16", "f4", "f", "u2", 2),
            Storage("float32", "f4", "f", "f4", 4),
            Storage("float64", "f8", "f", "f8", 8),
            Storage("complex64", "c8", "c", "c8", 8),
            Storage("complex128", "c16", "c", "c16", 16),
        )
    }
)


def converted(text: str, source: str, target: str) -> str:
    """Return the expression of a value converted from one dtype to another, as NumPy's astype does."""
    if source == target:
        return text
    a, b = STORAGES[source], STORAGES[target]
    if target == "bool":
        return f"({text} != 0)"
    if b.kind == "c" and a.kind != "c":
        return f"compose_{b.real}({b.real}({text}), {b.real}(0))"
    if target == "float16":
        return f"half_{a.code}({text})" if a.kind == "f" else f"half_f8(f8({text}))"
    if a.code == b.code:
        return text
    if a.kind == "f" and b.kind in "iu":
        if target == "uint64":
            return f"u8_of_{a.code}({text})"
        # By way of the width that C's conversion uses, so that undefined conversions mostly give NumPy's results.
        return f"{b.code}({'i4' if b.kind == 'i' and b.itemsize <= 4 else 'i8'}({text}))"
    return f"{b.code}({text})"
