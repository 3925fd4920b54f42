"""treadle.tensor.nn: functions for neural networks, and optimisers that return the updates of a training step.

The room may import every room of `treadle.tensor`, linear algebra, random numbers and signals; only an entry point
knows of it.
"""

from typing import TYPE_CHECKING

from treadle.config import lazy_names
from treadle.tensor.lazy import hint_below

if TYPE_CHECKING:
    from treadle.tensor.elementwise.exponential import sigmoid as sigmoid
    from treadle.tensor.elementwise.trigonometric import tanh as tanh
    from treadle.tensor.reductions.normalization import log_softmax as log_softmax
    from treadle.tensor.reductions.normalization import logsumexp as logsumexp
    from treadle.tensor.reductions.normalization import softmax as softmax
    from treadle.tensor.signal.pooling import avg_pool1d as avg_pool1d
    from treadle.tensor.signal.pooling import avg_pool2d as avg_pool2d
    from treadle.tensor.signal.pooling import avg_pool3d as avg_pool3d
    from treadle.tensor.signal.pooling import max_pool1d as max_pool1d
    from treadle.tensor.signal.pooling import max_pool2d as max_pool2d
    from treadle.tensor.signal.pooling import max_pool3d as max_pool3d

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.nn.activations import *  # noqa: F403
    from treadle.tensor.nn.initializers import *  # noqa: F403
    from treadle.tensor.nn.layers import *  # noqa: F403
    from treadle.tensor.nn.losses import *  # noqa: F403
    from treadle.tensor.nn.optimizers import *  # noqa: F403
    from treadle.tensor.nn.quasi_newton import *  # noqa: F403
    from treadle.tensor.nn.schedules import *  # noqa: F403
else:
    # What is of use here and stands elsewhere too.
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor.elementwise.exponential": "sigmoid",
            "treadle.tensor.elementwise.trigonometric": "tanh",
            "treadle.tensor.reductions.normalization": "log_softmax logsumexp softmax",
            "treadle.tensor.signal.pooling": "avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d",
        },
        hint_below("nn"),
    )
