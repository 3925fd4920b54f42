"""treadle.tensor.signal: convolution and correlation of signals, by SciPy's names; pooling, windows and polynomials.

The room may import every room of `treadle.tensor` below the rules. `fft` beside it has Fourier transforms; `lower` has
what backends make of both, `records` what they are checked by. Only entry points know of it.
"""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.signal.conv import *  # noqa: F403
else:
    __getattr__ = lazy_names(__name__, {})
