"""Random graphs of complex and real numbers, built with treadle and with PyTorch from one recipe.

Every function is smooth where it is used: arguments are kept away from kinks, and values small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import treadle.tensor as tt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

N = 3
# Complex and real operands of three shapes, which broadcast together.
KINDS = (("complex128", (N, N)), ("complex128", (N,)), ("complex128", ()), ("float64", (N, N)), ("float64", (N,)),
         ("float64", (N, 1)), ("float64", ()))  # fmt: skip


class Treadle:
    """The functions of recipes on variables."""

    exp, log, sin, cos, tanh, sqrt, abs, sign = tt.exp, tt.log, tt.sin, tt.cos, tt.tanh, tt.sqrt, tt.abs, tt.sign
    angle, complex, polar, matmul, switch = tt.angle, tt.complex, tt.complex_from_polar, tt.matmul, tt.switch
    softmax, logsumexp = staticmethod(tt.softmax), staticmethod(tt.logsumexp)
    sum, prod, mean, max = staticmethod(tt.sum), staticmethod(tt.prod), staticmethod(tt.mean), staticmethod(tt.max)
    join = staticmethod(tt.concatenate)

    @staticmethod
    def var(x: Any, axis: int) -> Any:
        return tt.var(x, axis=axis, ddof=1)

    @staticmethod
    def is_complex(x: Any) -> bool:
        return bool(x.dtype.startswith("complex"))

    @staticmethod
    def square(x: Any) -> Any:
        return tt.broadcast_to(x, (N, N))

    @staticmethod
    def as_complex(x: Any) -> Any:
        return tt.cast(x, "complex128")

    @staticmethod
    def picked(x: Any) -> Any:
        return x[[2, 0, 2]]

    @staticmethod
    def written(x: Any, y: Any) -> Any:
        return tt.set_subtensor(x[1], y)

    @staticmethod
    def added(x: Any, y: Any) -> Any:
        return tt.inc_subtensor(x[:2, 1:], y)


class Torch:
    """The same functions on tensors."""

    exp, log, sin, cos, tanh, sqrt, abs, sign = (
        torch.exp, torch.log, torch.sin, torch.cos, torch.tanh, torch.sqrt, torch.abs, torch.sgn,
    )  # fmt: skip
    complex, matmul, join = torch.complex, torch.matmul, torch.cat
    sum, prod, mean = staticmethod(torch.sum), staticmethod(torch.prod), staticmethod(torch.mean)

    @staticmethod
    def switch(condition: Any, x: Any, y: Any) -> Any:
        # PyTorch's own gradient fails where the dtypes differ.
        wide = torch.promote_types(x.dtype, y.dtype)
        return torch.where(condition, x.to(wide), y.to(wide))

    @staticmethod
    def angle(x: Any) -> Any:
        return torch.atan2(x.imag, x.real)

    @staticmethod
    def polar(r: Any, phi: Any) -> Any:
        return torch.complex(r * torch.cos(phi), r * torch.sin(phi))

    @staticmethod
    def softmax(x: Any, axis: int) -> Any:
        return torch.softmax(x, axis)

    @staticmethod
    def logsumexp(x: Any, axis: int) -> Any:
        return torch.logsumexp(x, axis)

    @staticmethod
    def max(x: Any, axis: int) -> Any:
        return torch.amax(x, axis)

    @staticmethod
    def var(x: Any, axis: int) -> Any:
        return torch.var(x, axis)

    @staticmethod
    def is_complex(x: Any) -> bool:
        return bool(x.is_complex())

    @staticmethod
    def square(x: Any) -> Any:
        return torch.broadcast_to(x, (N, N))

    @staticmethod
    def as_complex(x: Any) -> Any:
        return x.to(torch.complex128)

    @staticmethod
    def picked(x: Any) -> Any:
        return x[[2, 0, 2]]

    @staticmethod
    def written(x: Any, y: Any) -> Any:
        return torch.cat([x[:1], torch.broadcast_to(y, (1, N)).to(x.dtype), x[2:]])

    @staticmethod
    def added(x: Any, y: Any) -> Any:
        changed = torch.zeros_like(x)
        return torch.index_put(x, (torch.tensor([[0], [1]]), torch.tensor([[1, 2]])), y, accumulate=True) + changed


def _imag(m: Any, x: Any) -> Any:
    return x.imag if m.is_complex(x) else x * 0.5


def _small(m: Any, x: Any) -> Any:
    """A number of absolute value below a half."""
    return x / (1 + x.real**2 + (_imag(m, x) ** 2))


def _complex(m: Any, x: Any) -> Any:
    return x if m.is_complex(x) else m.as_complex(x)


def _apart(m: Any, x: Any) -> Any:
    """A number away from 0: its real part is above 0.5."""
    return _small(m, x) + 1


def _with_zero(m: Any, x: Any) -> Any:
    """The elements of a matrix, one of each row zero, and all of the last but one."""
    holes = ((1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, 1.0, 0.0))
    mask = tt.constant(np.array(holes)) if m is Treadle else torch.tensor(holes, dtype=torch.float64)
    return m.square(x) * mask


STEPS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda _m, x, y: x + y,
    lambda _m, x, y: x - y,
    lambda m, x, y: _small(m, x) * y,
    lambda _m, x, y: x * y / 4,
    lambda m, x, y: x / _apart(m, y),
    lambda m, x, _: m.exp(_small(m, x)),
    lambda m, x, _: m.log(_apart(m, x)),
    lambda m, x, y: m.sin(_small(m, x)) * m.cos(_small(m, y)),
    lambda m, x, y: m.tanh(_small(m, x)) + y,
    lambda m, x, _: m.sqrt(_apart(m, x)),
    lambda m, x, _: 1 / _apart(m, x),
    lambda m, x, y: _apart(m, x) ** _small(m, y),
    lambda m, x, _: x**2 / 2 + _small(m, x) ** 3,
    lambda m, x, _: _apart(m, x) ** 2.5,
    lambda m, x, _: m.abs(_apart(m, x)),
    lambda m, x, y: m.sign(_apart(m, x)) * y,
    lambda m, x, y: m.angle(_complex(m, _apart(m, x))) + y,
    lambda m, x, y: x.real * _imag(m, y),
    lambda _m, x, y: x.conj() * y,
    lambda m, x, y: m.complex(m.square(x).real, m.square(y).real) / 2,
    lambda m, x, y: m.polar(_small(m, x).real, _small(m, y).real),
    lambda m, x, y: m.switch(m.square(x).real > 0.3, m.square(y), m.square(x) * 2),
    lambda m, x, y: m.matmul(_complex(m, m.square(x)), _complex(m, m.square(y))) / 3,
    lambda m, x, y: m.matmul(m.square(x).real, m.square(y).real) / 3,
    lambda m, x, _: m.sum(m.square(x), 0) / 3,
    lambda m, x, _: m.mean(m.square(x), 1),
    lambda m, x, _: m.prod(m.square(x), 1),
    lambda m, x, _: m.prod(_with_zero(m, x), 0) + x,
    lambda m, x, _: m.var(m.square(x), 0),
    lambda m, x, y: m.max(m.square(x).real, 1) + y,
    lambda m, x, y: m.softmax(m.square(x).real, 1) * y,
    lambda m, x, _: m.logsumexp(m.square(x).real, 0),
    lambda m, x, _: m.square(x).T,
    lambda m, x, y: m.square(x)[1] - m.square(y)[:, 2],
    lambda m, x, _: m.picked(m.square(x)),
    lambda m, x, y: m.written(_complex(m, m.square(x)), y.real * 1.0 if y.ndim < 2 else y[0]),
    lambda m, x, y: m.added(m.square(x), m.square(y).real[1:, :2]) if not m.is_complex(x) else x,
    lambda m, x, y: m.join([_complex(m, m.square(x)), _complex(m, m.square(y))])[1 : 1 + N],
    lambda m, x, _: m.square(x).reshape((N * N,))[1:4],
    lambda m, x, _: _complex(m, x) * (0.5 - 0.25j),
)


COMPLEX_ONLY = {i for i, step in enumerate(STEPS) if {"complex", "polar", "_complex"} & set(step.__code__.co_names)}


@dataclass(frozen=True)
class Recipe:
    """A graph: each step takes a function and two earlier results, counted around."""

    steps: tuple[tuple[int, ...], ...]

    def cost(self, m: Any, inputs: Sequence[Any], weights: Any) -> Any:
        """Return the last result, made a real number by weights."""
        pool = list(inputs)
        for at, i, j in self.steps:
            pool.append(STEPS[at](m, pool[-1 - i % len(pool)], pool[-1 - j % len(pool)]))
        return m.sum((_complex(m, m.square(pool[-1])) * weights).real)


class Group:
    """Some random graphs of the same inputs, whose derivatives are computed as one program.

    Parameters
    ----------
    seed
        Decides everything.
    count
        How many graphs.
    with_complex
        Whether there are complex inputs.
    order
        1 for gradients; 2 for the gradients of how much the cost grows along a direction.
    """

    def __init__(self, seed: int, count: int, with_complex: bool, order: int) -> None:
        rng = np.random.default_rng(seed)
        allowed = [i for i in range(len(STEPS)) if with_complex or i not in COMPLEX_ONLY]
        self.kinds = [kind for kind in KINDS if with_complex or kind[0] == "float64"]
        self.order = order
        self.recipes = [
            Recipe(tuple((int(rng.choice(allowed)), *map(int, rng.integers(99, size=2))) for _ in range(length)))
            for length in rng.integers(1, 9, count)
        ]
        self.weights = _numbers(rng, "complex128", (N, N))
        self.values, self.along, self.moves = ([_numbers(rng, *kind) for kind in self.kinds] for _ in range(3))

    def problems(self, link: Callable[..., Any]) -> Iterator[str]:
        """Yield where derivatives differ from PyTorch's, or from finite differences.

        Parameters
        ----------
        link
            Takes inputs and outputs, returns the program as a function.
        """
        inputs = [tt.tensor(f"x{i}", dtype=d, ndim=len(shape)) for i, (d, shape) in enumerate(self.kinds)]
        along = [v.type() for v in inputs]
        costs, gradients = [], []
        for recipe in self.recipes:
            cost = recipe.cost(Treadle, inputs, tt.constant(self.weights))
            gradient = tt.grad(cost, inputs, disconnected_inputs="ignore")
            if self.order == 2:
                cost = _inner(gradient, along, tt.sum)
                gradient = tt.grad(cost, inputs, disconnected_inputs="ignore")
            costs.append(cost)
            gradients += gradient
        run = link([*inputs, *along], costs)
        values = list(run(*self.values, *self.along))
        results = list(link([*inputs, *along], gradients)(*self.values, *self.along))
        slopes = self._differences(run)
        width = len(inputs)
        for at, recipe in enumerate(self.recipes):
            own = [values[at], *results[at * width : (at + 1) * width]]
            wrong = self._problem(recipe, own, float(slopes[at]))
            if wrong is not None:
                yield f"{recipe}: {wrong}"

    def _differences(self, run: Callable[..., Any], h: float = 1e-4) -> Any:
        """Return how much each cost grows along the moves, to fourth order in the step."""
        ends = []
        for k in (1, -1, 2, -2):
            moved = [x + k * h * d for x, d in zip(self.values, self.moves, strict=True)]
            ends.append(np.array(run(*moved, *self.along)))
        return (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * h)

    def _problem(self, recipe: Recipe, derivatives: Sequence[Any], slope: float) -> str | None:
        size = 1 + sum(float(np.abs(x).sum()) for x in derivatives)
        for at, (one, other) in enumerate(zip(derivatives, self._of_pytorch(recipe), strict=True)):
            if one.shape != other.shape or one.dtype != other.dtype:
                return f"result {at} is {one.dtype}{one.shape}, PyTorch's {other.dtype}{other.shape}"
            if not np.allclose(one, other, rtol=1e-8, atol=1e-9 * size):
                return f"result {at} is {one}, PyTorch's {other}"
        computed = _inner(derivatives[1:], self.moves, np.sum)
        if not abs(computed - slope) <= 1e-6 * size:
            return f"the cost grows by {computed!r}, finite differences give {slope!r}"
        return None

    def _of_pytorch(self, recipe: Recipe) -> list[Any]:
        inputs = [torch.tensor(x, requires_grad=True) for x in self.values]
        cost = recipe.cost(Torch, inputs, torch.tensor(self.weights))
        gradients = _slopes(cost, inputs, self.order == 2)
        if self.order == 2:
            cost = _inner(gradients, [torch.tensor(x) for x in self.along], torch.sum)
            gradients = _slopes(cost, inputs, False)
        return [x.detach().resolve_conj().resolve_neg().numpy() for x in (cost, *gradients)]


def _slopes(cost: Any, inputs: Sequence[Any], again: bool) -> list[Any]:
    if not cost.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    gradients = torch.autograd.grad(cost, inputs, create_graph=again, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, inputs, strict=True)]


def _inner(gradients: Sequence[Any], directions: Sequence[Any], total: Callable[[Any], Any]) -> Any:
    """Return how much a cost grows along directions: the real inner product."""
    terms = [total((g * d.conj()).real) for g, d in zip(gradients, directions, strict=True)]
    return sum(terms[1:], terms[0])


def _numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    numbers = rng.uniform(-1.5, 1.5, shape)
    return np.asarray(numbers + 1j * rng.uniform(-1.5, 1.5, shape) if dtype == "complex128" else numbers)
