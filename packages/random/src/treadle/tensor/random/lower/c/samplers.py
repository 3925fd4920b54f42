"""NumPy's compiled samplers, which generated C calls by pointers that are looked up when the code is loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from treadle.link.c import BackendUnavailableError, CPointer, Unit
from treadle.tensor.random.generators.compiled_samplers import (
    COMPILED_SAMPLERS,
    CompiledSamplerError,
    bit_generator_functions,
    sampler_address,
)

_MODULE = "numpy.random._generator"
_NAMED = re.compile(r"&?\brandom_\w+")
_TYPES = {
    "d": "double", "f": "float", "i": "int64_t", "u": "uint64_t", "b": "_Bool", "p": "void *", "": "void",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SamplerPointer(CPointer):
    """One of `COMPILED_SAMPLERS`; without a name, the table of the bit generators' functions."""

    def address(self) -> int:
        """Return its address.

        Raises
        ------
        BackendUnavailableError
            If NumPy does not have it.
        """
        try:
            return sampler_address(self.name) if self.name else bit_generator_functions()
        except CompiledSamplerError as error:
            msg = f"c: {error}"
            raise BackendUnavailableError(msg) from error


def bit_generators(unit: Unit) -> str:
    """Return the C variable that points to the table of the bit generators' functions."""
    return unit.pointer("tr_at_bit_generators", SamplerPointer(_MODULE, "", ""))


def with_samplers(unit: Unit, text: str) -> str:
    """Return a text with calls and names (``&random_beta``) of samplers replaced by pointers."""

    def pointed(named: re.Match[str]) -> str:
        name = named[0].removeprefix("&")
        takes, _, result = COMPILED_SAMPLERS[name].partition(">")
        variable = unit.pointer(f"tr_at_{name}", SamplerPointer(_MODULE, name, COMPILED_SAMPLERS[name]))
        kinds = ", ".join(["tr_generator *", *(_TYPES[letter] for letter in takes)])
        return f"(({_TYPES[result]} (*)({kinds})){variable})"

    return _NAMED.sub(pointed, text)
