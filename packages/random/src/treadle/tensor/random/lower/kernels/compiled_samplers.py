"""NumPy's compiled samplers, and the functions of its bit generators, as kernels call them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from treadle.kernels import external, external_table
from treadle.kernels.language import Pointer, float32, float64, int64, uint64
from treadle.tensor.random.generators.compiled_samplers import (
    COMPILED_SAMPLERS,
    BitGenerators,
    CompiledSampler,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.kernels.externals import ExternalFunction

# The types of parameters by their letters.
_TYPES: Mapping[str, object] = MappingProxyType(
    {
        "d": float, "f": float32, "i": int, "u": uint64, "b": bool, "": None,
        "D": Pointer[float64], "F": Pointer[float32], "I": Pointer[int64], "U": Pointer[uint64],
    }
)  # fmt: skip


def compiled_sampler(name: str) -> ExternalFunction:
    """Return one of `COMPILED_SAMPLERS`, whose first parameter is a generator's block of words."""
    takes, _, result = COMPILED_SAMPLERS[name].partition(">")
    types = [Pointer[uint64], *(_TYPES[letter] for letter in takes)]
    return external(name, types, _TYPES[result], CompiledSampler(name))


# Four functions of each kind of bit generators.
bit_generators = external_table("bit_generator_functions", Pointer[uint64], BitGenerators())
