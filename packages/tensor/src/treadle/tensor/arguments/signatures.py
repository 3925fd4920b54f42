"""Signatures of generalised ufuncs, such as ``(m,n),(n)->(m)``: the core dimensions of inputs and outputs."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.tensor.arguments.values import as_integer, as_items
from treadle.tensor.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Core = tuple[str, ...]
    Cores = tuple[Core, ...]

__all__ = ["parse_gufunc_signature", "safe_signature"]

_CORE = r"\(\s*(?:\w+(?:\s*,\s*\w+)*\s*)?\)"
_CORES = rf"\s*(?:{_CORE}(?:\s*,\s*{_CORE})*)?\s*"
_SIGNATURE = re.compile(f"{_CORES}->{_CORES}")
_DIMENSION = r"[^(),]+(?:\(\w+,\w+\))?"


def parse_gufunc_signature(signature: str) -> tuple[list[Core], list[Core]]:
    """Return the names of the core dimensions of inputs and outputs.

    Raises
    ------
    ShapeError
        If it is not a signature.

    >>> parse_gufunc_signature("(m,n),(n)->(m)")
    ([('m', 'n'), ('n',)], [('m',)])
    """
    if not isinstance(signature, str) or _SIGNATURE.fullmatch(signature) is None:
        msg = f"signature: core dimensions are needed, such as '(m,n),(n)->(m)', got {text_of(signature)}. Write one."
        raise ShapeError(msg)
    inputs, _, outputs = signature.partition("->")
    return _cores(inputs), _cores(outputs)


def _cores(text: str) -> list[Core]:
    return [tuple(re.findall(r"\w+", core)) for core in re.findall(_CORE, text)]


@cache
def cores_of(signature: str) -> tuple[Cores, Cores]:
    """Return the names of the core dimensions of inputs and outputs of an op; lengths may be the smaller of two.

    >>> cores_of("(m,n)->(m,min(m,n)),(n)")
    ((('m', 'n'),), (('m', 'min(m,n)'), ('n',)))
    """
    inputs, _, outputs = signature.partition("->")
    return _cores_with_lengths(inputs), _cores_with_lengths(outputs)


def _cores_with_lengths(text: str) -> Cores:
    cores = re.findall(rf"\(((?:{_DIMENSION}(?:,{_DIMENSION})*)?)\)(?:,|$)", text)
    return tuple(tuple(re.findall(_DIMENSION, core)) for core in cores)


def safe_signature(core_inputs_ndim: Sequence[int], core_outputs_ndim: Sequence[int]) -> str:
    """Return a signature for cores of these ranks, all of whose dimensions have names of their own.

    Raises
    ------
    TensorTypeError
        If they are not integers of 0 or more.

    >>> safe_signature([2, 1], [1])
    '(i00,i01),(i10)->(o00)'
    """
    sides = []
    for letter, core_ranks in (("i", core_inputs_ndim), ("o", core_outputs_ndim)):
        ranks = [as_integer("safe_signature: a rank", n, 0) for n in as_items("safe_signature: the ranks", core_ranks)]
        sides.append(",".join(f"({','.join(f'{letter}{i}{d}' for d in range(n))})" for i, n in enumerate(ranks)))
    return "->".join(sides)
