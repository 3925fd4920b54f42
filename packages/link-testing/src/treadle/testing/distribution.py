"""Distribution: the record of one distribution of `treadle.tensor.random`, with references for its draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treadle.config import dataclass

Parameters = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution, and the references that its draws are compared with.

    Attributes
    ----------
    name
        Its name in `treadle.tensor.random`.
    parameters
        Values of the parameters for one draw, such as ``(1.5, 2.0)``; several choices if samplers differ between them.
        The first choice is drawn on every backend, all of them on the VM and on C.
    oracle
        A function from parameters to a frozen distribution of `scipy.stats`, whose ``cdf`` or ``pmf`` the draws are
        tested by; None where SciPy has none.
    moments
        Instead of an oracle, a function from parameters to the mean and the covariance (or variance) of a draw.
    numpy
        The same draw by NumPy's Generator, ``numpy(rng, *parameters, size)``, equal bit for bit. None if the draw is
        composed of others.
    shifts
        Values of the parameters that broadcast, for draws of batches: by default the first choice, with the first
        parameter repeated.
    extremes
        Further parameters for which draws must be right: at the edges of the domain, tiny and huge. Each comes with a
        function that tells whether an array of draws is right.
    invalid
        Parameters that must be refused, each with a regular expression for the message of the ValueError.
    smooth
        The positions of the parameters by which draws have derivatives.
    exact
        Whether portable draws are equal bit for bit on every backend: integers computed without floats.
    make
        The function that draws from the parameters, ``size``, ``rng`` and ``return_next_rng``, if some arguments of the
        distribution are not variables. None for the distribution with the name.
    costly
        Backends whose compilers take seconds for its draws, which consist of many steps: treadle's own tests run these
        with -m slow only.
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
