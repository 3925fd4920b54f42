"""NumPy's compiled samplers, as kernels call them (``sampler_random_normal(g, x, y)``), and what opens a generator."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.link.numba import External
from treadle.tensor.random.generators.compiled_samplers import (
    COMPILED_SAMPLERS,
    bit_generator_functions,
    sampler_address,
)


def sampler(name: str) -> External:
    """Return a sampler; it takes the address of the generator's block, then numbers and addresses."""
    takes, _, result = COMPILED_SAMPLERS[name].partition(">")
    return External(sampler_address(name), f"p{takes}", result)


@dataclass(frozen=True, slots=True)
class BitGenerators:
    """The address of the table of the bit generators' functions."""

    def address(self) -> int:
        """Return the address in this process."""
        return bit_generator_functions()
