"""Batches of draws that are vectors, and other arrays that NumPy's functions make for values only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Variable
from treadle.tensor.arguments.signatures import cores_of
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.random.generators.generator_draws import GENERATOR_SAMPLERS, of_each

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size


def draw_vectors(rng: Generator, name: str, size: Size, *parameters: Operand) -> Operand:
    """Return draws of a method of ``numpy.random.Generator`` whose parameters are vectors.

    NumPy has sizes or batches of parameters for some of these methods, none for others. The draws of a batch are made
    one after the other, in C order.
    """
    if not isinstance(rng, np.random.Generator):
        return getattr(rng, name)(*parameters, size=size)
    signature, (dtype, *_) = GENERATOR_SAMPLERS[name]
    cores, _ = cores_of(signature)
    method = getattr(rng, name)
    if all(np.ndim(p) == len(core) for p, core in zip(parameters, cores, strict=True)) and name != "permutation":
        return method(*parameters, size=size)
    batch = tuple(int(n) for n in size)  # type: ignore[union-attr]  # a tuple
    whole = [np.broadcast_to(p, (*batch, *p.shape[p.ndim - len(c) :])) for p, c in zip(parameters, cores, strict=True)]
    return of_each(method, dtype, batch, whole)


def positions(n: Operand) -> Operand:
    """Return the integers from 0 up to n."""
    return arange(n) if isinstance(n, Variable) else np.arange(n)
