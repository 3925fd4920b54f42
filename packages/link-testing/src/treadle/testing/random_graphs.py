"""Random graphs: hypothesis draws recipes, and every backend must give the same results, rewritten or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies

from treadle import tensor as tt
from treadle.config import dataclass
from treadle.tensor import TensorVariable
from treadle.testing.comparison import difference
from treadle.testing.domain import Array
from treadle.testing.errors import ContractError
from treadle.testing.linking import compiled, linked

# All lengths are this or 1, so that everything broadcasts; graphs are built without knowing which of the two.
LENGTH = 3
SHAPES = ((LENGTH, LENGTH), (LENGTH,), (LENGTH, 1), (1, LENGTH), ())
# Intermediate results stay small, and depend smoothly on rounding, so that results of backends can be compared.
TOLERANCE = (1e-8, 1e-9)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A graph as numbers: each step is a function of two earlier results, whose numbers wrap around.

    Parameters
    ----------
    steps
        (function, first result, second result), any natural numbers.
    """

    steps: tuple[tuple[int, int, int], ...]

    def build(self, inputs: Sequence[TensorVariable]) -> TensorVariable:
        """Return the last result, for inputs of `SHAPES`."""
        pool = list(inputs)
        for function, i, j in self.steps:
            x, y = pool[-1 - i % len(pool)], pool[-1 - j % len(pool)]
            pool.append(_STEPS[function % len(_STEPS)](x, y))
        return pool[-1]


def _as_square(x: TensorVariable) -> TensorVariable:
    return x + tt.zeros((LENGTH, LENGTH), dtype="float64")


def _in_float32(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Convert integers to float32 and back, which is exact."""
    del y
    return (x * 0 + 2).astype("float32").astype("float64") * x


_STEPS: tuple[Callable[[TensorVariable, TensorVariable], TensorVariable], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: tt.tanh(x) * tt.sin(y),
    lambda x, y: x / (2 + tt.sqr(tt.tanh(y))),
    tt.maximum,
    lambda x, y: tt.tanh(x) ** 2 + tt.cos(y),
    lambda x, y: tt.switch(tt.isfinite(y), x, y),
    lambda x, y: tt.log1p(tt.exp(tt.tanh(x))) + tt.sigmoid(y),
    lambda x, _: -x,
    lambda x, _: abs(x),
    lambda x, _: 1 / (1 + tt.exp(-x)),
    lambda x, _: tt.log(1 + tt.sqr(x)),
    lambda x, _: _as_square(x).T,
    lambda x, _: _as_square(x)[::-1, 1:2],
    lambda x, _: tt.mean(_as_square(x), axis=0),
    lambda x, _: tt.sum(tt.tanh(x)) * 0.1,
    lambda x, _: tt.max(_as_square(x), axis=1, keepdims=True),
    lambda x, _: tt.softmax(_as_square(x), axis=-1),
    lambda x, _: _as_square(x).reshape((LENGTH * LENGTH,)).reshape((LENGTH, LENGTH)).T,
    lambda x, y: tt.tanh(tt.matmul(_as_square(x), _as_square(y))),
    lambda x, y: tt.join(0, _as_square(x), _as_square(y))[1 : 1 + LENGTH],
    lambda x, y: _as_square(x)[1].set(_as_square(y)[0]),
    lambda x, y: tt.inc_subtensor(_as_square(x)[[0, 2, 0]], tt.tanh(_as_square(y))),
    _in_float32,
)

_function = strategies.integers(0, len(_STEPS) - 1)
_place = strategies.integers(0, 9)
recipes = strategies.builds(
    Recipe, strategies.lists(strategies.tuples(_function, _place, _place), min_size=1, max_size=14).map(tuple)
)


def input_variables() -> list[TensorVariable]:
    """Return the inputs of recipes, of unknown lengths."""
    return [tt.tensor(f"x{i}", dtype="float64", ndim=len(shape)) for i, shape in enumerate(SHAPES)]


def input_values(seed: int) -> list[Array]:
    """Return values of the inputs."""
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(-2, 2, shape)) for shape in SHAPES]


def compare(made: Sequence[Recipe], backend: str, rewritten: bool = True, seed: int = 0) -> None:
    """Check that a backend and the unrewritten Python VM agree about some random graphs, compiled as one function.

    Parameters
    ----------
    made
        The recipes.
    backend
        Name of an installed backend.
    rewritten
        Whether to go through `treadle.compile.function`.
    seed
        The seed of the values.

    Raises
    ------
    ContractError
        If results differ; the message shows the recipe.
    """
    inputs = input_variables()
    outputs = [recipe.build(inputs) for recipe in made]
    values = input_values(seed)
    expected = linked("vm", inputs, outputs)(*values)
    results = (compiled if rewritten else linked)(backend, inputs, outputs)(*values)
    for recipe, one, other in zip(made, results, expected, strict=True):
        wrong = difference(one, other, TOLERANCE)
        if wrong is not None:
            msg = f"{backend}: {recipe} gives another result than the Python VM: {wrong}."
            raise ContractError(msg)
