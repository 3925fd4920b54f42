"""The rules that all libraries share (`treadle.tensor.ArrayRules`), on the library that the options name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from treadle.link.array_api.libraries import Library, library
from treadle.link.array_api.lower.reductions.reduction import refuse_complex, total
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import ArgReduction, ArrayRules, ExtractDiag, TensorNode, enter_array_rules


class _Functions:
    """A library's functions; those of several axes for libraries that take one at a time."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def __getattr__(self, name: str) -> Any:
        return getattr(self.xp, name)

    def squeeze(self, x: Array, axis: Sequence[int]) -> Array:
        return self.xp.squeeze(x, axis=tuple(axis))

    def expand_dims(self, x: Array, axis: Sequence[int]) -> Array:
        for at in axis:
            x = self.xp.expand_dims(x, axis=at)
        return x

    def concat(self, arrays: Sequence[Array], axis: int) -> Array:
        return self.xp.concat(arrays, axis=axis)

    def argmax(self, x: Array, axis: int) -> Array:
        return self.xp.argmax(x, axis=axis)

    def argmin(self, x: Array, axis: int) -> Array:
        return self.xp.argmin(x, axis=axis)


class _Rules(ArrayRules):
    """The rules. Nothing is traced: lengths are numbers, and what is invalid is an error at once."""

    def __init__(self, lib: Library) -> None:
        super().__init__(_Functions(lib.xp))
        self._lib = lib

    def converter(self, source: str, target: str) -> Callable[[Array], Array]:
        return lambda x: self._lib.astype(x, target)

    def lengths(self, values: Sequence[Array]) -> tuple[int, ...]:
        return tuple(int(n) for n in values)

    def total(self, x: Array, axes: tuple[int, ...], dtype: str) -> Array:
        return total(self._lib, x, axes, dtype)

    def checked(self, run: Callable[..., tuple[Any, Any]]) -> Lowered:
        def checks(*values: Array) -> Array:
            failed, result = run(*values)
            if failed is not None and bool(failed):
                msg = "values are invalid"
                raise ValueError(msg)
            return result

        return checks

    def copied(self, x: Array) -> Array:
        return self._lib.owned(x)

    def comparable(self, dtype: str) -> Callable[[Array], Array]:
        return super().comparable(dtype) if dtype != "bool" else self.converter("bool", "uint8")

    def arg_reduction(self, op: ArgReduction, node: TensorNode) -> Lowered:
        refuse_complex(node.inputs[0].type.dtype)
        lowered: Lowered = super().arg_reduction(op, node)
        return lowered


@cache
def _rules_of(lib: Library) -> _Rules:
    return _Rules(lib)


# Diagonals are in an extension of the standard.
enter_array_rules(ARRAY_API, lambda: _rules_of(library()), ExtractDiag)
