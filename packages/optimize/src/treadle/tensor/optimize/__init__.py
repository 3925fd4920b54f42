"""treadle.tensor.optimize: minima and roots of expressions, and fixed points of functions, as expressions.

The room may import every room of `treadle.tensor`, and linear algebra; only entry points know of it.
"""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.optimize.optimize import *  # noqa: F403
else:
    __getattr__ = lazy_names(__name__, {})
