"""Records of activations, losses and what layers do: compositions, which few checks on each backend will do for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import Domain
from treadle.testing.operands import of_shape
from treadle.testing.sample import COMPOSED, Operand, Sample, costly

if TYPE_CHECKING:
    from treadle.testing.domain import Array
    from treadle.testing.sample import Function

F = "neural"
nn = tt.nn
# Away from 0, 3 and 6, where slopes jump.
_X = of_shape((3, 4), domain=Domain(0.2, 2.5, special=False))
_Y = of_shape((3, 4), domain=Domain(3.1, 5.5, special=False))
_P = of_shape((3, 4), domain=Domain(0.1, 0.9, special=False))
_IMAGE = of_shape((2, 4, 3), domain=Domain(-2.0, 2.0, special=False))
_CHANNELS = of_shape((4,), domain=Domain(0.5, 2.0, special=False))
_LABELS = Operand({"plain": (3,)}, dtype="int64", values=lambda rng, shape: rng.integers(0, 4, shape))
_PLACES = Operand({"plain": (2, 5)}, dtype="int64", values=lambda rng, shape: rng.integers(0, 3, shape))


def _record(name: str, build: Function, oracle: Function, *operands: Operand, wrt: tuple[int, ...] = (0,)) -> Sample:
    return Sample(name, F, build, oracle, operands, ("float64",), wrt, variants=("plain",), kinds=COMPOSED)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf)(x)  # type: ignore[no-any-return]  # an array


def _log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))  # type: ignore[no-any-return]  # an array


def _normalized(x: Array, axis: Any) -> Array:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)  # type: ignore[no-any-return]


def _attention(q: Array, k: Array, v: Array) -> Array:
    return np.exp(_log_softmax(q @ k.T / 2.0)) @ v


def _heads(q: Array, k: Array) -> Array:
    return np.concatenate([np.exp(_log_softmax(q[:, h] @ k[:, h].T / np.sqrt(2.0))) @ k[:, h] for h in _HALVES], axis=1)


_HALVES = (slice(0, 2), slice(2, 4))
_EYE = dict.fromkeys(("query", "key", "value", "output"), np.eye(4))
_SELU = (1.6732632423543772, 1.0507009873554805)

ACTIVATIONS = (
    _record("relu", nn.relu, lambda x: np.maximum(x, 0), _X),
    _record("relu6", nn.relu6, lambda x: np.clip(x, 0, 6), _X),
    _record("hard_tanh", lambda x: nn.hard_tanh(x, -9, 9), lambda x: x, _X),
    _record("hard_sigmoid", nn.hard_sigmoid, lambda x: x / 6 + 0.5, _X),
    _record("hard_swish", nn.hard_swish, lambda x: x * (x / 6 + 0.5), _X),
    _record("leaky_relu", lambda x: nn.leaky_relu(-x), lambda x: -0.01 * x, _X),
    _record("elu", lambda x: nn.elu(-x), lambda x: np.expm1(-x), _X),
    _record("celu", lambda x: nn.celu(-x, 2.0), lambda x: 2 * np.expm1(-x / 2), _X),
    _record("selu", lambda x: nn.selu(-x), lambda x: _SELU[0] * _SELU[1] * np.expm1(-x), _X),
    _record("gelu", nn.gelu, lambda x: x * (1 + _erf(x / np.sqrt(2))) / 2, _X),
    _record("swish", lambda x: nn.swish(x, 2.0), lambda x: x * _sigmoid(2 * x), _X),
    _record("silu", nn.silu, lambda x: x * _sigmoid(x), _X),
    _record("log_sigmoid", nn.log_sigmoid, lambda x: np.log(_sigmoid(x)), _X),
    _record("mish", nn.mish, lambda x: x * np.tanh(np.log1p(np.exp(x))), _X),
    _record("softplus", lambda x: nn.softplus(x, 2.0), lambda x: np.log1p(np.exp(2 * x)) / 2, _X),
    _record("softsign", nn.softsign, lambda x: x / (1 + x), _X),
    _record("glu", nn.glu, lambda x: x[:, :2] * _sigmoid(x[:, 2:]), _X),
    _record("one_hot", lambda k: nn.one_hot(k, 4), lambda k: np.eye(4)[k], _LABELS, wrt=()),
)
LOSSES = (
    _record("mse", nn.mse, lambda x, y: ((x - y) ** 2).mean(), _X, _Y),
    _record("mae", nn.mae, lambda x, y: abs(x - y).mean(), _X, _Y),
    _record("huber", lambda x, y: nn.huber(x, y, 0.1), lambda x, y: 0.1 * (abs(x - y) - 0.05).mean(), _X, _Y),
    _record("smooth_l1", lambda x, y: nn.smooth_l1(x, y, 0.1), lambda x, y: (abs(x - y) - 0.05).mean(), _X, _Y),
    _record("hinge", lambda x, y: nn.hinge(-x, y), lambda x, y: (1 + x * y).mean(), _X, _Y),
    _record("binary_cross_entropy", nn.binary_cross_entropy,
            lambda p, t: -(t * np.log(p) + (1 - t) * np.log1p(-p)).mean(), _P, _P),
    _record("binary_cross_entropy_with_logits", nn.binary_cross_entropy_with_logits,
            lambda x, t: (np.log1p(np.exp(x)) - t * x).mean(), _X, _P),
    _record("cross_entropy", nn.cross_entropy, lambda x, k: -_log_softmax(x)[np.arange(3), k].mean(), _X, _LABELS),
    _record("nll", nn.nll, lambda x, k: -x[np.arange(3), k].mean(), _X, _LABELS),
    _record("kl_divergence", nn.kl_divergence, lambda x, t: (t * (np.log(t) - x)).sum(axis=1).mean(), _X, _P),
    _record("cosine_similarity", nn.cosine_similarity,
            lambda x, y: (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1)), _X, _Y),
)  # fmt: skip
LAYERS = (
    _record("layer_norm", nn.layer_norm, lambda x: _normalized(x, -1), _IMAGE),
    _record("rms_norm", nn.rms_norm, lambda x: x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 2.0**-52), _X),
    _record("group_norm", lambda x: nn.group_norm(x, 2),
            lambda x: _normalized(x.reshape(2, 2, 6), -1).reshape(2, 4, 3), _IMAGE),
    _record("instance_norm", nn.instance_norm, lambda x: _normalized(x, -1), _IMAGE),
    _record("batch_norm", nn.batch_norm, lambda x, m, v: (x - m[:, None]) / np.sqrt(v[:, None] + 1e-5), _IMAGE,
            _CHANNELS, _CHANNELS),
    _record("embedding", nn.embedding, lambda k, x: x[k], _PLACES, _X, wrt=(1,)),
    _record("scaled_dot_product_attention", nn.scaled_dot_product_attention, _attention, _X, _X, _X),
    _record("multi_head_attention", lambda q, k: nn.multi_head_attention(q, k, k, _EYE, 2), _heads, _X, _X),
)  # fmt: skip
RECORDS = costly(("pytorch-once",), *ACTIVATIONS, *LOSSES, *LAYERS)
