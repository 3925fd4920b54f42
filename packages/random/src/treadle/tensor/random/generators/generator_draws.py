"""GeneratorDraws: the numbers of the methods of NumPy's Generator, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import static_op
from treadle.tensor.arguments.signatures import cores_of
from treadle.tensor.random.draw_op import DrawOp
from treadle.tensor.random.words import KINDS, with_words, words_of
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply

__all__ = ["GENERATOR_SAMPLERS", "GeneratorDraws"]

_FLOATS, _INTS = ("float64",), ("int64",)
_BOTH = ("float64", "float32")
# The methods of Generator that draw: core dimensions of parameters and draw, and dtypes.
GENERATOR_SAMPLERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "random": ("->()", _BOTH),
    "standard_normal": ("->()", _BOTH),
    "standard_exponential": ("->()", _BOTH),
    "standard_gamma": ("()->()", _BOTH),
    "normal": ("(),()->()", _FLOATS),
    "uniform": ("(),()->()", _FLOATS),
    "exponential": ("()->()", _FLOATS),
    "gamma": ("(),()->()", _FLOATS),
    "beta": ("(),()->()", _FLOATS),
    "f": ("(),()->()", _FLOATS),
    "chisquare": ("()->()", _FLOATS),
    "noncentral_chisquare": ("(),()->()", _FLOATS),
    "noncentral_f": ("(),(),()->()", _FLOATS),
    "standard_cauchy": ("->()", _FLOATS),
    "standard_t": ("()->()", _FLOATS),
    "vonmises": ("(),()->()", _FLOATS),
    "pareto": ("()->()", _FLOATS),
    "weibull": ("()->()", _FLOATS),
    "power": ("()->()", _FLOATS),
    "laplace": ("(),()->()", _FLOATS),
    "gumbel": ("(),()->()", _FLOATS),
    "logistic": ("(),()->()", _FLOATS),
    "lognormal": ("(),()->()", _FLOATS),
    "rayleigh": ("()->()", _FLOATS),
    "wald": ("(),()->()", _FLOATS),
    "triangular": ("(),(),()->()", _FLOATS),
    "binomial": ("(),()->()", _INTS),
    "negative_binomial": ("(),()->()", _INTS),
    "poisson": ("()->()", _INTS),
    "zipf": ("()->()", _INTS),
    "geometric": ("()->()", _INTS),
    "hypergeometric": ("(),(),()->()", _INTS),
    "logseries": ("()->()", _INTS),
    "integers": ("(),()->()", _INTS),
    "multinomial": ("(),(p)->(p)", _INTS),
    "multivariate_hypergeometric": ("(p),()->(p)", _INTS),
    "dirichlet": ("(p)->(p)", _FLOATS),
    "permutation": ("(n)->(n)", _INTS),
}
# Which parameters are integers; all others are float64.
INTEGER_PARAMETERS: dict[str, tuple[int, ...]] = {
    "binomial": (0,),
    "hypergeometric": (0, 1, 2),
    "integers": (0, 1),
    "multinomial": (0,),
    "multivariate_hypergeometric": (0, 1),
    "permutation": (0,),
}
# Methods that take vectors, for draws of one distribution.
_OF_VECTORS = frozenset({"multivariate_hypergeometric", "dirichlet"})
# Methods whose parameter is the dtype as well.
_TYPED = frozenset({"random", "standard_normal", "standard_exponential", "standard_gamma"})


@static_op
class GeneratorDraws(DrawOp):
    """An array of draws by a method of ``numpy.random.Generator``, and the state after them.

    The state is that of a bit generator of NumPy's as words (see `treadle.tensor.random.words`). Elements are drawn
    in C order, one after the other, as NumPy draws them.
    """

    storage = TensorType("uint64", (None,))

    @classmethod
    def known(cls) -> dict[str, Sequence[str]]:
        """Return the samplers, and which dtypes each may have."""
        return {name: dtypes for name, (_, dtypes) in GENERATOR_SAMPLERS.items()}

    @classmethod
    def parameter_dtypes(cls, sampler: str) -> list[str]:
        """Return the dtype of each parameter of a method."""
        input_cores, _ = cores_of(GENERATOR_SAMPLERS[sampler][0])
        integers = INTEGER_PARAMETERS.get(sampler, ())
        return ["int64" if k in integers else "float64" for k in range(len(input_cores))]

    @property
    def signature(self) -> str:
        """Core dimensions of parameters and draw."""
        return GENERATOR_SAMPLERS[self.sampler][0]

    def made_types(self, state: TensorType, draw: TensorType) -> list[TensorType]:
        """Return the types of the state and the draw."""
        return [state, draw]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Have a generator in that state draw."""
        batch, parameters = self.flat(inputs)
        kind = getattr(np.random, KINDS[int(inputs[0][0])])
        rng = with_words(np.random.Generator(kind(0)), inputs[0])
        method = getattr(rng, self.sampler)
        values = inputs[self.ndim + 1 :]
        one = all(p.ndim == len(core) for p, core in zip(values, self.cores[0], strict=True))
        if self.sampler == "permutation" or (self.sampler in _OF_VECTORS and not one):
            draws = of_each(method, self.dtype, batch, parameters)
        else:
            # Parameters of rank 0 are numbers: NumPy draws integers in another way if a bound is an array.
            arguments = [p if p.ndim else p[()] for p in values]
            typed = {"dtype": self.dtype} if self.sampler in _TYPED else {}
            draws = method(*arguments, size=batch, **typed)
        output_storage[0][0] = words_of(rng)
        output_storage[1][0] = np.asarray(draws, self.dtype)


def of_each(
    method: Callable[..., np.ndarray], dtype: str, batch: tuple[int, ...], parameters: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the draws of a method whose parameters are vectors: each is drawn by itself, in C order."""
    length = next(p.shape[-1] for p in parameters if p.ndim > len(batch))
    draws = np.empty((*batch, length), dtype)
    for at in np.ndindex(*batch):
        # Copies: Generator.permutation of an array without elements wants to write into it.
        draws[at] = method(*(np.array(p[at]) for p in parameters))
    return draws
