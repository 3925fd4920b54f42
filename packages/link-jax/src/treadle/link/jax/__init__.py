"""treadle.link.jax: the JAX backend. Importing it does not import JAX."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.jax.backend import BACKEND
from treadle.link.jax.errors import ForkedProcessError, RecompilationWarning
from treadle.link.jax.table import JAX, Array, Assumed, Checked, Flag, Lowered, Results, TakesAssumed

if TYPE_CHECKING:
    from treadle.link.jax.casting import convert
    from treadle.link.jax.external_op import JAXOp, wrap_jax
    from treadle.link.jax.functional import jax_function
    from treadle.link.jax.linker import JAXLinker
    from treadle.link.jax.mapped_axes import fori_loop, while_loop
    from treadle.link.jax.scalars import SCALARS

    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "link-jax",
        {
            "treadle.link.jax.casting": "convert",
            "treadle.link.jax.external_op": "JAXOp wrap_jax",
            "treadle.link.jax.functional": "jax_function",
            "treadle.link.jax.linker": "JAXLinker",
            "treadle.link.jax.mapped_axes": "fori_loop while_loop",
            "treadle.link.jax.scalars": "SCALARS",
        },
    )

__all__ = [
    "BACKEND", "JAX", "SCALARS", "Array", "Assumed", "Checked", "Flag", "ForkedProcessError", "JAXLinker", "JAXOp",
    "Lowered", "RecompilationWarning", "Results", "TakesAssumed", "convert", "fori_loop", "jax_function", "while_loop",
    "wrap_jax",
]  # fmt: skip
