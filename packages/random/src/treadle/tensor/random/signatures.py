"""What follows from the signature of a distribution: ranks of its parameters and of a single draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from treadle.tensor.arguments.signatures import parse_gufunc_signature

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.random.op import RandomVariable

_Cores = Sequence[tuple[str, ...]]
_Ranks = TypeVar("_Ranks", bound="int | list[int]")


class FromSignature(Generic[_Ranks]):
    """An attribute that follows from the signature: of an op, or of a class of ops, None where it has no signature."""

    def __init__(self, read: Callable[[_Cores, tuple[str, ...]], _Ranks], doc: str) -> None:
        self._read = read
        self.__doc__ = doc

    @overload
    def __get__(self, op: RandomVariable, kind: type[RandomVariable]) -> _Ranks: ...
    @overload
    def __get__(self, op: None, kind: type[RandomVariable]) -> _Ranks | None: ...
    def __get__(self, op: RandomVariable | None, kind: type[RandomVariable]) -> _Ranks | None:
        if op is not None:
            return self.of(op)
        if kind.signature is None:
            return None
        parameters, (draw,) = parse_gufunc_signature(kind.signature)
        return self._read(parameters, draw)

    def of(self, op: RandomVariable) -> _Ranks:
        """Return the attribute of an op."""
        return self._read(op._inputs_cores, op._output_core)


def signature_of(ndim_supp: int, ndims_params: Sequence[int]) -> str:
    """Return a signature for ranks; no two dimensions are the same."""
    count = iter(range(1000))
    cores = [f"({','.join(f'i{next(count)}' for _ in range(rank))})" for rank in ndims_params]
    output_core = f"({','.join(f'o{k}' for k in range(ndim_supp))})"
    return f"{','.join(cores)}->{output_core}"
