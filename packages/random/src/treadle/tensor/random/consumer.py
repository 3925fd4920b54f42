"""RNGConsumerOp: the base of ops that draw."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from treadle.graph import Op
from treadle.tensor.random.densities.attributes import function_of, law_of
from treadle.tensor.random.densities.names import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.graph import Apply, Variable
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["RNGConsumerOp"]


class RNGConsumerOp(Op):
    """Base of ops that draw random numbers."""

    if TYPE_CHECKING:
        # Each where the distribution has it.
        logpdf: Callable[..., TensorVariable]
        pdf: Callable[..., TensorVariable]
        logpmf: Callable[..., TensorVariable]
        pmf: Callable[..., TensorVariable]
        cdf: Callable[..., TensorVariable]
        logcdf: Callable[..., TensorVariable]
        sf: Callable[..., TensorVariable]
        logsf: Callable[..., TensorVariable]
        icdf: Callable[..., TensorVariable]
        mean: Callable[..., TensorVariable]
        variance: Callable[..., TensorVariable]
    else:

        def __getattr__(self, name: str) -> Any:
            """Return a function of the distribution: its density, distribution function, quantiles, mean or variance.

            Raises
            ------
            AttributeError
                If there is none of this name.
            """
            distribution = vars(self).get("name")
            if name in FUNCTIONS and isinstance(distribution, str) and type(self).__module__.startswith(__package__):
                return function_of(distribution, name)
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)

    def __dir__(self) -> list[str]:
        """List the functions of the distribution too."""
        law = law_of(str(vars(self).get("name")))
        return [*super().__dir__(), *(() if law is None else law.names())]

    @abstractmethod
    def update(self, node: Apply) -> Mapping[Variable, Variable]:
        """Return, for each generator that a node takes, the generator after its draws."""
