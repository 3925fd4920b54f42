"""GeneratorMethods: what the methods of the portable generator draw, for arrays and in graphs alike.

Each is written once, with NumPy's functions, in terms of a few samplers
(`treadle.tensor.random.generators.samplers.PORTABLE_SAMPLERS`).
NumPy's functions of variables are treadle's, so that a method of a symbolic generator builds a graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.random.methods.continuous_methods import ContinuousMethods
from treadle.tensor.random.methods.vector_methods import VectorMethods

if TYPE_CHECKING:
    from collections.abc import Sequence

    # A number or an array, or a variable.
    Operand = Any
    # A generator of NumPy's, a portable one, or one of a graph: they have the same methods.
    Generator = Any
    Size = int | Sequence[Operand] | None


class GeneratorMethods(ContinuousMethods, VectorMethods):
    """The methods of ``numpy.random.Generator``."""

    __slots__ = ()
