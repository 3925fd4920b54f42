"""Optimisers: the updates of one step that makes a cost smaller, as `function` takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treadle.config import text_of
from treadle.graph import SharedVariable, Variable, composed, is_tree, shared, tree_flatten
from treadle.tensor.elementwise.arithmetic import clip, maximum, sign
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import gt
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.errors import ArgumentError, DtypeError
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorSharedVariable, TensorVariable

__all__ = [
    "adadelta", "adagrad", "adam", "adamw", "clip_by_norm", "clip_by_value", "global_norm", "lion", "nadam", "rmsprop",
    "sgd",
]  # fmt: skip

Updates: TypeAlias = "dict[TensorSharedVariable, TensorVariable]"
LearningRate: TypeAlias = "TensorLike | Callable[[TensorVariable], TensorLike]"


class _Step:
    """What every optimiser begins with: parameters, their gradients, the learning rate, and updates to fill in."""

    def __init__(
        self, name: str, cost: object, params: object, learning_rate: LearningRate, weight_decay: float = 0.0
    ) -> None:
        self.params = parameters(name, params)
        self.gradients = gradients_of(name, cost, params, self.params)
        if weight_decay:
            decayed = zip(self.gradients, self.params, strict=True)
            self.gradients = [gradient + weight_decay * param for gradient, param in decayed]
        self.updates: Updates = {}
        self._name = name
        self._count: TensorSharedVariable | None = None
        self._rate = learning_rate(self.count) if callable(learning_rate) else learning_rate

    @property
    def count(self) -> TensorSharedVariable:
        """The number of steps made, before this one."""
        if self._count is None:
            self._count = shared(np.asarray(0), name=f"{self._name}_step")
            self.updates[self._count] = self._count + 1
        return self._count

    def number(self, like: TensorVariable) -> TensorVariable:
        """Return the number of this step, from 1 on, in the dtype of a parameter."""
        return cast(self.count + 1, like.dtype)

    def rate(self, like: TensorVariable) -> TensorVariable:
        """Return the learning rate in the dtype of a parameter."""
        return cast(as_tensor_variable(self._rate), like.dtype)

    def state(self, param: TensorSharedVariable, what: str, start: float = 0.0) -> TensorSharedVariable:
        """Return a new shared variable of the form of a parameter."""
        value = param.get_value(borrow=True)
        name = None if param.name is None else f"{param.name}_{what}"
        new: TensorSharedVariable = shared(np.full_like(np.asarray(value), start), name=name, shape=param.type.shape)
        return new

    def scalar(self, like: TensorVariable, what: str, start: float) -> TensorSharedVariable:
        """Return a new shared scalar of the dtype of a parameter."""
        new: TensorSharedVariable = shared(np.asarray(start, like.dtype), name=f"{self._name}_{what}")
        return new

    def set(self, variable: TensorSharedVariable, new: TensorVariable) -> None:
        """Note a new value, in the dtype of its variable."""
        self.updates[variable] = cast(new, variable.dtype)


def parameters(name: str, params: object) -> list[TensorSharedVariable]:
    """Return the shared variables of a tree."""
    leaves, form = tree_flatten(params)
    for leaf, path in zip(leaves, form.paths("params"), strict=True):
        if not isinstance(leaf, SharedVariable) or not hasattr(leaf, "dtype"):
            msg = f"{name}: {path}: a parameter must be a shared variable, got {text_of(leaf)}. Make it with tt.shared."
            raise ArgumentError(msg)
        if leaf.type.numpy_dtype.kind != "f":
            msg = f"{name}: {path}: a parameter must be of a float dtype, got {leaf} of type {leaf.type}."
            raise DtypeError(msg)
    if len(set(leaves)) < len(leaves):
        msg = f"{name}: a parameter stands in the tree twice. Leave one of the two out."
        raise ArgumentError(msg)
    return leaves


def gradients_of(name: str, cost: Any, params: object, leaves: Sequence[TensorSharedVariable]) -> list[TensorVariable]:
    """Return gradients: those of a cost, or those given in the form of the parameters."""
    if not is_tree(cost):
        return list(grad(cost, leaves))
    return [as_tensor_variable(x) for x in tree_flatten(params)[1].leaves(cost, f"{name}: gradients")]


@composed
def sgd(
    cost: object, params: object, learning_rate: LearningRate = 0.001, momentum: float = 0.0, nesterov: bool = False,
    weight_decay: float = 0.0,
) -> Updates:  # fmt: skip
    """Return the updates of gradient descent, with momentum or without (as torch.optim.SGD).

    Parameters
    ----------
    cost
        A float scalar; or the gradients by the parameters, nested as these are, which may be clipped before.
    params
        Shared variables, nested as you like: in dictionaries, lists, dataclasses and so on.
    learning_rate
        A number, a scalar (such as a shared variable, which can be changed), or a schedule: a function of the number of
        steps made, such as `cosine_decay` returns.
    momentum
        m in v' = m v + g, p' = p - rate v'. 0 for none.
    nesterov
        Whether to step along g + m v' (Y. Nesterov, 1983, in the form of I. Sutskever et al., 2013).
    weight_decay
        d in g + d p, which takes the place of the gradient.

    Returns
    -------
    New values by shared variable, for ``updates`` of `function`. What the optimiser keeps is in shared variables of its
    own, which begin anew with each call of this function.

    Raises
    ------
    ArgumentError
        If a parameter is not a shared variable, or stands in the tree twice.
    DtypeError
        If a parameter is not of a float dtype.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> w = tt.shared(3.0, name="w")
    >>> step = tt.function([], w**2, updates=tt.nn.sgd(w**2, w, learning_rate=0.25))
    >>> [float(step()) for _ in range(3)]
    [9.0, 2.25, 0.5625]
    """
    run = _Step("sgd", cost, params, learning_rate, weight_decay)
    for param, gradient in zip(run.params, run.gradients, strict=True):
        move = gradient
        if momentum:
            velocity = run.state(param, "velocity")
            move = momentum * velocity + gradient
            run.set(velocity, move)
            if nesterov:
                move = gradient + momentum * move
        run.set(param, param - run.rate(param) * move)
    return run.updates


def _adam(
    name: str, cost: object, params: object, learning_rate: LearningRate, beta1: float, beta2: float, epsilon: float,
    weight_decay: float, is_decoupled: bool, amsgrad: bool,
) -> Updates:  # fmt: skip
    run = _Step(name, cost, params, learning_rate, 0.0 if is_decoupled else weight_decay)
    for param, gradient in zip(run.params, run.gradients, strict=True):
        rate, number = run.rate(param), run.number(param)
        first, second = run.state(param, "first_moment"), run.state(param, "second_moment")
        m = beta1 * first + (1 - beta1) * gradient
        v = beta2 * second + (1 - beta2) * gradient**2
        run.set(first, m)
        run.set(second, v)
        if amsgrad:
            largest = run.state(param, "largest_moment")
            v = maximum(largest, v)
            run.set(largest, v)
        root = sqrt(v) / sqrt(1 - beta2**number) + epsilon
        start = param * (1 - rate * weight_decay) if weight_decay and is_decoupled else param
        run.set(param, start - rate / (1 - beta1**number) * m / root)
    return run.updates


@composed
def adam(
    cost: object, params: object, learning_rate: LearningRate = 0.001, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False,
) -> Updates:  # fmt: skip
    """Return the updates of Adam (as torch.optim.Adam).

    Parameters
    ----------
    cost, params, learning_rate
        As for `sgd`.
    beta1, beta2
        How much is kept of the means of gradients and of their squares.
    epsilon
        What is added to the root of the latter.
    weight_decay
        d in g + d p, which takes the place of the gradient. See `adamw` for the other kind.
    amsgrad
        Whether the largest mean of squares so far is taken (S. J. Reddi, S. Kale and S. Kumar, 2018).

    Notes
    -----
    D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> w = tt.shared(3.0, name="w")
    >>> step = tt.function([], w**2, updates=tt.nn.adam(w**2, w, learning_rate=0.5))
    >>> [float(step().round(4)) for _ in range(3)]
    [9.0, 6.25, 4.0177]
    """
    return _adam(
        "adam", cost, params, learning_rate, beta1, beta2, epsilon, weight_decay, is_decoupled=False, amsgrad=amsgrad
    )


@composed
def adamw(
    cost: object, params: object, learning_rate: LearningRate = 0.001, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-8, weight_decay: float = 0.01, amsgrad: bool = False,
) -> Updates:  # fmt: skip
    """Return the updates of Adam with weights that decay by themselves (as torch.optim.AdamW).

    The arguments are those of `adam`; each step multiplies the parameters by 1 - rate weight_decay first.

    I. Loshchilov and F. Hutter, "Decoupled Weight Decay Regularization", 2019.

    >>> import treadle.tensor as tt
    >>> w = tt.shared(3.0, name="w")
    >>> step = tt.function([], w**2, updates=tt.nn.adamw(w**2, w, learning_rate=0.5))
    >>> [float(step().round(4)) for _ in range(2)]
    [9.0, 6.1752]
    """
    return _adam(
        "adamw", cost, params, learning_rate, beta1, beta2, epsilon, weight_decay, is_decoupled=True, amsgrad=amsgrad
    )


@composed
def nadam(
    cost: object, params: object, learning_rate: LearningRate = 0.002, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-8, momentum_decay: float = 0.004,
) -> Updates:  # fmt: skip
    """Return the updates of Adam with Nesterov's momentum (as torch.optim.NAdam).

    The arguments are those of `adam`; the momentum of step t is beta1 (1 - 0.96^(t momentum_decay) / 2).

    T. Dozat, "Incorporating Nesterov Momentum into Adam", 2016.

    >>> import treadle.tensor as tt
    >>> w = tt.shared(3.0, name="w")
    >>> step = tt.function([], w**2, updates=tt.nn.nadam(w**2, w, learning_rate=0.5))
    >>> [float(step().round(4)) for _ in range(2)]
    [9.0, 6.1097]
    """
    run = _Step("nadam", cost, params, learning_rate)
    if not run.params:
        return run.updates
    like = max(run.params, key=lambda param: np.dtype(param.dtype).itemsize)
    number = run.number(like)
    product = run.scalar(like, "momentum_product", 1.0)
    now, after = (beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay)) for t in (number, number + 1))
    total = product * now
    run.set(product, total)
    for param, gradient in zip(run.params, run.gradients, strict=True):
        rate = run.rate(param)
        first, second = run.state(param, "first_moment"), run.state(param, "second_moment")
        m = beta1 * first + (1 - beta1) * gradient
        v = beta2 * second + (1 - beta2) * gradient**2
        run.set(first, m)
        run.set(second, v)
        root = sqrt(v / (1 - beta2 ** run.number(param))) + epsilon
        run.set(
            param,
            param - rate * ((1 - now) / (1 - total) * gradient + after / (1 - total * after) * m) / root,
        )
    return run.updates


@composed
def rmsprop(
    cost: object, params: object, learning_rate: LearningRate = 0.01, decay: float = 0.99, epsilon: float = 1e-8,
    momentum: float = 0.0, centered: bool = False, weight_decay: float = 0.0,
) -> Updates:  # fmt: skip
    """Return the updates of RMSProp: gradients over the root of the mean of their squares (as torch.optim.RMSprop).

    Parameters
    ----------
    cost, params, learning_rate, momentum, weight_decay
        As for `sgd`.
    decay
        How much is kept of the mean.
    epsilon
        What is added to the root.
    centered
        Whether the square of the mean of gradients is taken away from the mean of squares.

    Notes
    -----
    T. Tieleman and G. Hinton, "Lecture 6.5: rmsprop", 2012.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> w = tt.shared(3.0, name="w")
    >>> step = tt.function([], w**2, updates=tt.nn.rmsprop(w**2, w, learning_rate=0.1))
    >>> [float(step().round(4)) for _ in range(2)]
    [9.0, 4.0]
    """
    run = _Step("rmsprop", cost, params, learning_rate, weight_decay)
    for param, gradient in zip(run.params, run.gradients, strict=True):
        squares = run.state(param, "mean_square")
        v = decay * squares + (1 - decay) * gradient**2
        run.set(squares, v)
        if centered:
            mean = run.state(param, "mean")
            center = decay * mean + (1 - decay) * gradient
            run.set(mean, center)
            v = maximum(v - center**2, 0)
        move = gradient / (sqrt(v) + epsilon)
        if momentum:
            velocity = run.state(param, "velocity")
            move = momentum * velocity + move
            run.set(velocity, move)
        run.set(param, param - run.rate(param) * move)
    return run.updates


@composed
def adagrad(
    cost: object, params: object, learning_rate: LearningRate = 0.01, initial_sum: float = 0.0, epsilon: float = 1e-10,
    rate_decay: float = 0.0, weight_decay: float = 0.0,
) -> Updates:  # fmt: skip
    """Return the updates of AdaGrad: gradients over the root of the sum of their squares (as torch.optim.Adagrad).

    Parameters
    ----------
    cost, params, learning_rate, weight_decay
        As for `sgd`.
    initial_sum
        What the sums start with.
    epsilon
        What is added to the root.
    rate_decay
        The rate is divided by 1 + rate_decay (t - 1) in step t.

    Notes
    -----
    J. Duchi, E. Hazan and Y. Singer, "Adaptive Subgradient Methods", 2011.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> w = tt.shared(3.0, name="w")
    >>> step = tt.function([], w**2, updates=tt.nn.adagrad(w**2, w, learning_rate=1.0))
    >>> [float(step().round(4)) for _ in range(2)]
    [9.0, 4.0]
    """
    run = _Step("adagrad", cost, params, learning_rate, weight_decay)
    for param, gradient in zip(run.params, run.gradients, strict=True):
        squares = run.state(param, "sum_of_squares", initial_sum)
        total = squares + gradient**2
        run.set(squares, total)
        rate = run.rate(param)
        if rate_decay:
            rate = rate / (1 + rate_decay * cast(run.count, param.dtype))
        run.set(param, param - rate * gradient / (sqrt(total) + epsilon))
    return run.updates


@composed
def adadelta(
    cost: object, params: object, learning_rate: LearningRate = 1.0, decay: float = 0.9, epsilon: float = 1e-6,
    weight_decay: float = 0.0,
) -> Updates:  # fmt: skip
    """Return the updates of AdaDelta: steps in the units of the parameters (as torch.optim.Adadelta).

    Parameters
    ----------
    cost, params, learning_rate, weight_decay
        As for `sgd`.
    decay
        How much is kept of the means of squares of gradients and of steps.
    epsilon
        What is added to both under the roots.

    Notes
    -----
    M. D. Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> w = tt.shared(3.0, name="w")
    >>> step = tt.function([], w**2, updates=tt.nn.adadelta(w**2, w))
    >>> [float(step().round(4)) for _ in range(2)]
    [9.0, 8.981]
    """
    run = _Step("adadelta", cost, params, learning_rate, weight_decay)
    for param, gradient in zip(run.params, run.gradients, strict=True):
        squares, steps = run.state(param, "mean_square"), run.state(param, "mean_square_step")
        v = decay * squares + (1 - decay) * gradient**2
        move = sqrt(steps + epsilon) / sqrt(v + epsilon) * gradient
        run.set(squares, v)
        run.set(steps, decay * steps + (1 - decay) * move**2)
        run.set(param, param - run.rate(param) * move)
    return run.updates


@composed
def lion(
    cost: object, params: object, learning_rate: LearningRate = 1e-4, beta1: float = 0.9, beta2: float = 0.99,
    weight_decay: float = 0.0,
) -> Updates:  # fmt: skip
    """Return the updates of Lion: steps of the sign of a mean of gradients (as optax.lion).

    Parameters
    ----------
    cost, params, learning_rate
        As for `sgd`.
    beta1, beta2
        How much of the mean is in the step, and how much of it is kept.
    weight_decay
        d in p' = p - rate (sign + d p).

    Notes
    -----
    X. Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> w = tt.shared(3.0, name="w")
    >>> step = tt.function([], w**2, updates=tt.nn.lion(w**2, w, learning_rate=1.0))
    >>> [float(step()) for _ in range(3)]
    [9.0, 4.0, 1.0]
    """
    run = _Step("lion", cost, params, learning_rate)
    for param, gradient in zip(run.params, run.gradients, strict=True):
        mean = run.state(param, "mean")
        move = sign(beta1 * mean + (1 - beta1) * gradient)
        run.set(mean, beta2 * mean + (1 - beta2) * gradient)
        run.set(param, param - run.rate(param) * (move + weight_decay * param if weight_decay else move))
    return run.updates


@composed
def global_norm(gradients: object) -> TensorVariable:
    """Return the length of all gradients of a tree together, as one vector (as optax.global_norm).

    >>> from treadle.tensor.nn import global_norm
    >>> float(global_norm({"w": [3.0], "b": 4.0}).eval())
    5.0
    """
    total: TensorVariable = as_tensor_variable(0.0)
    for leaf in tree_flatten(gradients)[0]:
        total = total + sum_(as_tensor_variable(leaf) ** 2)
    # The root has no slope at 0, which nothing should reach that takes a gradient of this.
    return switch(gt(total, 0), sqrt(switch(gt(total, 0), total, 1.0)), 0.0)


@composed
def clip_by_norm(gradients: object, max_norm: TensorLike) -> Any:
    """Return gradients, made shorter together where they are longer than a norm (as optax.clip_by_global_norm).

    Parameters
    ----------
    gradients
        A tree of tensors.
    max_norm
        The greatest length of all of them together.

    Notes
    -----
    R. Pascanu, T. Mikolov and Y. Bengio, "On the difficulty of training recurrent neural networks", 2013.
    torch.nn.utils.clip_grad_norm_ divides by the length plus 1e-6.

    Examples
    --------
    >>> from treadle.tensor.nn import clip_by_norm
    >>> [float(x.eval().round(4)) for x in clip_by_norm([3.0, 4.0], 1.0)]
    [0.6, 0.8]
    """
    norm = global_norm(gradients)
    factor = switch(gt(norm, max_norm), max_norm / switch(gt(norm, 0), norm, 1.0), 1.0)
    return _mapped(gradients, lambda x: x * cast(factor, x.dtype))


@composed
def clip_by_value(gradients: object, limit: float | TensorVariable) -> Any:
    """Return gradients, each element brought between -limit and limit (as torch.nn.utils.clip_grad_value_).

    >>> from treadle.tensor.nn import clip_by_value
    >>> [float(x.eval()) for x in clip_by_value([3.0, -0.5], 1.0)]
    [1.0, -0.5]
    """
    return _mapped(gradients, lambda x: cast(clip(x, -limit, limit), x.dtype))


def _mapped(tree: object, change: Callable[[Any], TensorVariable]) -> Any:
    leaves, form = tree_flatten(tree)
    return form.fill([change(x if isinstance(x, Variable) else as_tensor_variable(x)) for x in leaves])
