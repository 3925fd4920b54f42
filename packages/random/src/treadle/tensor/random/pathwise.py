"""Derivatives of draws through the definition of their distribution, the elementary draws held as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import DisconnectedType, graph_replace
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.gradients.reverse_mode import gradients_of_parts
from treadle.tensor.random.consumer import RNGConsumerOp
from treadle.tensor.random.generators.symbolic import arguments_of
from treadle.tensor.random.generators.types import PortableGeneratorType
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.random.op import RandomVariable


def _of_scale(shape: Any, scale: Any = 1.0, *size: Any) -> tuple[Any, ...]:
    """Return the parameters of a gamma distribution: NumPy's second one is the scale, ours may be the rate."""
    return shape, scale, *size


# Methods of generators that are a distribution of another name, or of other parameters: those that it takes.
_STANDARD: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "random": ("uniform", lambda *size: (0.0, 1.0, *size)),
    "standard_normal": ("normal", lambda *size: (0.0, 1.0, *size)),
    "standard_exponential": ("exponential", lambda *size: (1.0, *size)),
    "gamma": ("_gamma", _of_scale),
    "standard_gamma": ("_gamma", lambda shape, *size: (shape, 1.0, *size)),
    "chisquare": ("_gamma", lambda df, *size: (as_tensor_variable(df) / 2.0, 2.0, *size)),
}
# Another distribution than the generator's method of that name.
_DRAWN_OTHERWISE = frozenset({"pareto"})


class DistributionsOf:
    """A generator of a graph whose methods are the distributions of their names: the same draws, with derivatives.

    Parameters
    ----------
    rng
        The generator; each draw moves on from the one before.
    defined
        The distribution whose definition is asked for: it has no derivative by itself.
    """

    def __init__(self, rng: Variable, defined: RandomVariable) -> None:
        self._rng = rng
        self._defined = type(defined)
        # Only portable generators draw floats of the op's dtype; NumPy's, and their keys, draw float64.
        single = isinstance(rng.type, PortableGeneratorType) and defined.dtype == "float32"
        self._dtype = "float32" if single else "float64"

    def __getattr__(self, name: str) -> Callable[..., Variable]:
        """Return a method.

        Raises
        ------
        AttributeError
            If generators have no such method.
        NotImplementedError
            If no distribution draws the same.
        """
        getattr(np.random.Generator, name)
        distribution_name, parameters_of = _STANDARD.get(name, (name, lambda *parameters: parameters))
        drawing: Any = getattr(upward.function("random"), distribution_name, None)
        known = isinstance(drawing, RNGConsumerOp) and not isinstance(drawing, self._defined)
        if not known or name in _DRAWN_OTHERWISE:
            msg = f"{type(self).__name__}: no distribution draws what the method {name} does"
            raise NotImplementedError(msg)

        def method(*parameters: object, **keywords: object) -> Variable:
            drawn: Variable
            try:
                values, size = arguments_of(name, parameters, keywords)
            except TypeError as error:
                raise NotImplementedError(str(error)) from error
            dtype = None if drawing.is_discrete else self._dtype
            own = parameters_of(*values)
            self._rng, drawn = drawing(*own, size=size, dtype=dtype, rng=self._rng, return_next_rng=True)
            return drawn

        return method


def by_definition(
    op: RandomVariable,
    rng: Variable,
    parameters: Sequence[Variable],
    batch: Sequence[Variable],
    cotangent: Variable,
) -> Sequence[Any] | None:
    """Return the cotangent times the derivative of a draw by each parameter, as the op's definition says.

    None where it draws what has no derivative by itself. In place of a term stands None where nothing flows back.
    """
    own = [p.type.make_variable() for p in parameters]
    try:
        drawn = as_tensor_variable(op.definition(DistributionsOf(rng, op), *own, size=tuple(batch)))
    except NotImplementedError:
        return None
    # The definition may compute in another dtype than the op's.
    flowing = cotangent.type.make_variable()
    smooth = [p for p in own if isinstance(p.type, TensorType) and p.type.numpy_dtype.kind in "fc"]
    seeds: dict[Variable, Variable] = {drawn: cast(flowing, drawn.type.dtype)}
    terms = gradients_of_parts(
        seeds, smooth, disconnected_inputs="ignore", return_disconnected="disconnected",
        null_gradients="return", add_names=False,
    )  # fmt: skip
    replacements: dict[Variable, Variable] = dict(zip([*own, flowing], [*parameters, cotangent], strict=True))
    flowing_back = dict(zip(smooth, graph_replace(list(terms), replacements, strict=False), strict=True))
    reached = {p: term for p, term in flowing_back.items() if not isinstance(term.type, DisconnectedType)}
    return [reached.get(p) for p in own]
