"""Derivatives of draws through the definition of their distribution, the elementary draws held as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import DisconnectedType, graph_replace
from treadle.tensor.gradients.reverse_mode import gradients_of_parts
from treadle.tensor.random.consumer import RNGConsumerOp
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.random.op import RandomVariable


# Methods of generators that are a distribution with fixed parameters.
_STANDARD = {
    "random": ("uniform", 0.0, 1.0),
    "standard_normal": ("normal", 0.0, 1.0),
    "standard_exponential": ("exponential", 1.0),
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
        distribution_name, *fixed = _STANDARD.get(name, (name,))
        drawing: Any = getattr(upward.function("random"), str(distribution_name), None)
        known = isinstance(drawing, RNGConsumerOp) and not isinstance(drawing, self._defined)
        if not known or name in _DRAWN_OTHERWISE:
            msg = f"{type(self).__name__}: no distribution draws what the method {name} does"
            raise NotImplementedError(msg)

        def method(*parameters: object, size: object = None) -> Variable:
            drawn: Variable
            self._rng, drawn = drawing(*fixed, *parameters, size=size, rng=self._rng, return_next_rng=True)
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
    flowing = drawn.type.make_variable()
    smooth = [p for p in own if isinstance(p.type, TensorType) and p.type.numpy_dtype.kind in "fc"]
    terms = gradients_of_parts(
        {drawn: flowing}, smooth, disconnected_inputs="ignore", return_disconnected="disconnected",
        null_gradients="return", add_names=False,
    )  # fmt: skip
    replacements: dict[Variable, Variable] = dict(zip([*own, flowing], [*parameters, cotangent], strict=True))
    flowing_back = dict(zip(smooth, graph_replace(list(terms), replacements, strict=False), strict=True))
    reached = {p: term for p, term in flowing_back.items() if not isinstance(term.type, DisconnectedType)}
    return [reached.get(p) for p in own]
