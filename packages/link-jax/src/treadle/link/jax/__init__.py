"""treadle.link.jax: the JAX backend. Importing it does not import JAX."""

from treadle.link.jax.backend import BACKEND
from treadle.link.jax.errors import ForkedProcessError, Unsupported
from treadle.link.jax.table import JAX, SCALARS, Checked, ScalarTable

__all__ = ["BACKEND", "JAX", "SCALARS", "Checked", "ForkedProcessError", "ScalarTable", "Unsupported"]
