"""Making records of elementwise functions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treadle.testing.domain import REAL, Array, Domain
from treadle.testing.sample import KINDS, LONG, PLAIN, REALS, Function, Operand, Sample

# One operand broadcasts against the next if lengths are 1 at run time.
_BROADCAST = ((3, 1), (1, 4), (1, 1), (3, 4))
# Every special value is combined with every other.
_SPECIAL = ((10, 1), (1, 10), (1, 10), (1, 1))
_EMPTY = ((0, 4), (1, 4), (0, 1), (1, 4))


def operands(domains: tuple[Domain, ...], dtypes: tuple[str | None, ...] = ()) -> tuple[Operand, ...]:
    """Return operands of rank 2, whose variants broadcast against each other."""
    count = len(domains)
    return tuple(
        Operand(
            {
                "plain": PLAIN,
                "long": LONG,
                "broadcast": _BROADCAST[at] if count > 1 else (1, 4),
                "empty": _EMPTY[at],
                "special": _SPECIAL[at],
            },
            domain,
            dtypes[at] if dtypes else None,
        )
        for at, domain in enumerate(domains)
    )


def elementwise(
    family: str,
    name: str,
    build: Function,
    oracle: Function,
    *domains: Domain,
    dtypes: tuple[str, ...] = REALS,
    wrt: tuple[int, ...] | None = None,
    order: int = 2,
    signed_zeros: bool = False,
    tolerances: Mapping[str, tuple[float, float]] | None = None,
    fixed: tuple[str | None, ...] = (),
    takes_all: bool = True,
    kinds: tuple[str, ...] = KINDS,
) -> Sample:
    """Return the record of an elementwise function, with one domain for each operand.

    `fixed` are the dtypes of operands that do not have that of the group; the other fields are those of `Sample`.
    """
    return Sample(
        name,
        family,
        build,
        oracle,
        operands(domains or (REAL,), fixed),
        dtypes,
        () if wrt is None else wrt,
        order,
        signed_zeros=signed_zeros,
        tolerances=tolerances or {},
        takes_all=takes_all and not any(fixed),
        any_rank=True,
        kinds=kinds,
    )


def in_float64(function: Function) -> Function:
    """Return an oracle that computes in float64 and rounds to the dtype that NumPy's exp would return."""

    def oracle(*arrays: Array) -> Array:
        dtype = np.result_type(*(np.exp(x[:0].ravel()).dtype if x.ndim else np.exp(x).dtype for x in arrays))
        return np.asarray(function(*(x.astype("float64") for x in arrays))).astype(dtype)

    return oracle
