"""The draws that compiled code makes of Philox: what each takes, how many blocks, and its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.tensor.random.generators.philox import bits, exponential, normal, uniform
from treadle.tensor.random.generators.rejection import (
    binomial,
    hypergeometric,
    integers,
    log_standard_gamma,
    poisson,
    standard_gamma,
    vonmises,
    zipf,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


class Sampler(NamedTuple):
    """A draw that compiled code makes of Philox.

    Attributes
    ----------
    signature
        Core dimensions of its parameters and of one draw.
    parameters
        Dtypes of its parameters.
    dtypes
        What it can return.
    per_block
        How many elements a block gives, by dtype; draws that may reject take a block an element, and the same one
        again for each further attempt.
    reference
        ``reference(state, n, dtype, *parameters)`` returns n elements; parameters have that length, and their cores.
    """

    signature: str
    parameters: tuple[str, ...]
    dtypes: tuple[str, ...]
    per_block: dict[str, int]
    reference: Callable[..., np.ndarray]


FLOATS = ("float64", "float32")
_INT = ("int64",)
_PER_BLOCK = {"float64": 2, "float32": 4}

SAMPLERS: dict[str, Sampler] = {
    "bits": Sampler("->()", (), ("uint32", "uint64", "int64"), {"uint32": 4, "uint64": 2, "int64": 2}, bits),
    "random": Sampler("->()", (), FLOATS, _PER_BLOCK, uniform),
    "standard_exponential": Sampler("->()", (), FLOATS, _PER_BLOCK, exponential),
    "standard_normal": Sampler("->()", (), FLOATS, _PER_BLOCK, normal),
    "integers": Sampler("(),()->()", ("int64", "int64"), _INT, {}, integers),
    "standard_gamma": Sampler("()->()", ("float64",), FLOATS, {}, standard_gamma),
    "log_standard_gamma": Sampler("()->()", ("float64",), ("float64",), {}, log_standard_gamma),
    "poisson": Sampler("()->()", ("float64",), _INT, {}, poisson),
    "binomial": Sampler("(),()->()", ("int64", "float64"), _INT, {}, binomial),
    "hypergeometric": Sampler("(),(),()->()", ("int64",) * 3, _INT, {}, hypergeometric),
    "vonmises": Sampler("()->()", ("float64",), FLOATS, {}, vonmises),
    "zipf": Sampler("()->()", ("float64",), _INT, {}, zipf),
}
