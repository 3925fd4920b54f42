"""Functions of Hermitian matrices, by their eigenvalues."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import abs_, maximum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import le
from treadle.tensor.embedding.from_graph import OpFromGraph
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh
from treadle.tensor.linalg.linear_systems import of_triangle
from treadle.tensor.products.product import adjoint
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable

    Function = Callable[[TensorVariable], TensorVariable]


def hermitian_function(a: TensorVariable, function: Function, on_error: str = "nan") -> TensorVariable:
    """Return V f(w) V*, the function of Hermitian matrices V w V* of which the lower triangle is read.

    The gradient is right where eigenvalues coincide, too; second derivatives need those of a matrix to differ.

    Parameters
    ----------
    a
        The matrices.
    function
        An elementwise function of real tensors to real ones, with a derivative.
    on_error
        What becomes of matrices that are not finite: ``"nan"`` or ``"raise"``.
    """
    x = a.type.make_variable()
    w, v = Eigh(on_error=on_error)(x)
    value = (v * expand_dims(function(w), -2)) @ adjoint(v)
    op = OpFromGraph([x], [value], inline=True, pullback=partial(_pullback, function), name="hermitian function")
    result: TensorVariable = op(a)
    return result


def _pullback(
    function: Function, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
) -> list[Variable]:
    """Return V (F * (V* dX V)) V* with divided differences F (Daleckii and Krein; Higham 2008, theorem 3.11)."""
    del outputs
    w, v = Eigh()(inputs[0])
    here, there = expand_dims(w, -1), expand_dims(w, -2)
    gap, middle = here - there, (here + there) / 2
    # The slope between them differs from the quotient by the square of their distance, rounding by its inverse.
    near = le(abs_(gap), float(np.finfo(w.dtype).eps) ** (1 / 3) * maximum(abs_(here), abs_(there)))
    one = constant(1, dtype=w.dtype)
    slope = grad(sum_(function(middle)), middle)
    quotient = (function(here) - function(there)) / switch(near, one, gap)
    inner = adjoint(v) @ tensors(cotangents)[0] @ v
    gradient = v @ (switch(near, slope, quotient) * inner) @ adjoint(v)
    return [of_triangle(gradient, lower=True, hermitian=True)]
