"""The declaration of the JAX backend."""

from __future__ import annotations

from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treadle.config import install_advice, installed_version
from treadle.link.jax.options import JAX_LIBRARIES
from treadle.link.vm import Backend, ProgramLinker

if TYPE_CHECKING:
    from collections.abc import Callable

    import jax


def _linker() -> ProgramLinker:
    from treadle.link.jax.linker import JAXLinker

    return JAXLinker()


def _version() -> str:
    return f"jax {installed_version('jax')} jaxlib {installed_version('jaxlib')}"


def _unavailable() -> str | None:
    if find_spec("jax") is None:
        return f"jax is not installed. Install it: {install_advice('compile[jax]')}"
    return None


def _about() -> dict[str, str]:
    import jax

    return {"devices": ", ".join(map(str, jax.devices()))}


def _jax_function(function: Any) -> Callable[..., tuple[jax.Array, ...]]:
    from treadle.link.jax.functional import jax_function

    return jax_function(function.wait())


BACKEND = Backend(
    name="jax",
    linker=_linker,
    # XLA fuses by itself, and its arrays are never overwritten.
    include=("search_as_loop",),
    exclude=("fusion", "inplace", "cxx_only", "BlasOpt"),
    capabilities=frozenset({"deepcopy", "native_values"}),
    version=_version,
    unavailable=_unavailable,
    libraries=JAX_LIBRARIES,
    about=_about,
    function_attributes=MappingProxyType({"jax_function": _jax_function}),
)
