"""Distribution: one distribution of `treadle.tensor.random`, with what its draws are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    Parameters = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution, and what its draws are compared with.

    Attributes
    ----------
    name
        Its name in `treadle.tensor.random`.
    parameters
        Values of the parameters, for one draw, such as ``(1.5, 2.0)``; several choices where the sampler differs by
        them. The first one is drawn on every backend, all of them on the VM and on C.
    oracle
        A function from parameters to a frozen distribution of `scipy.stats`, whose ``cdf`` or ``pmf`` the draws are
        tested by; None where SciPy has none.
    moments
        In place of an oracle: a function from parameters to mean and covariance (variance) of a draw.
    numpy
        How NumPy's Generator draws it, ``numpy(rng, *parameters, size)``: the same numbers, bit for bit. None where the
        draw is composed of others.
    shifts
        Values of the parameters that broadcast, for draws of batches: by default the first choice, with the first
        parameter repeated.
    extremes
        Further parameters for which draws must be right: at the edges of the domain, tiny and huge. With each, a
        function that says whether an array of draws is right.
    invalid
        Parameters that must be refused, and a pattern (a regular expression) of what the ValueError says.
    smooth
        Whether draws have derivatives by the parameters; those by the parameters whose positions are listed.
    exact
        Whether the portable draws agree to the bit on every backend: integers made of no floats.
    make
        How a draw is made of the parameters, and of ``size``, ``rng`` and ``return_next_rng``; where some arguments of
        the distribution are no variables. None for the distribution of the name.
    costly
        Backends whose compilers take seconds for its draws, being made of many: treadle's own tests make these with
        -m slow only.
    """

    name: str
    parameters: Sequence[Parameters]
    oracle: Callable[..., Any] | None = None
    moments: Callable[..., tuple[Any, Any]] | None = None
    numpy: Callable[..., Any] | None = None
    shifts: Parameters | None = None
    extremes: Sequence[tuple[Parameters, Callable[[np.ndarray], bool]]] = ()
    invalid: Sequence[tuple[Parameters, str]] = ()
    smooth: Sequence[int] = ()
    exact: bool = False
    make: Callable[..., Any] | None = None
    costly: Sequence[str] = ()
