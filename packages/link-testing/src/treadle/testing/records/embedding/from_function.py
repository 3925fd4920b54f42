"""Records of ops that call Python functions, which backends that compile whole graphs may refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from treadle import tensor as tt
from treadle.graph import Apply, FunctionGraph, SymbolicShape, Type, Variable
from treadle.tensor import TensorVariable
from treadle.testing.domain import Array
from treadle.testing.operands import NO_SPECIAL, of_shape
from treadle.testing.sample import Sample

F = "from_function"
_X = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97))


def _square(x: Array) -> Array:
    return x * x


def _squared(x: TensorVariable) -> object:
    wrap = tt.wrap_py([x.type], [x.type], _same_shapes, pullback=_slope)
    return wrap(_square)(x)


def _same_shapes(fgraph: FunctionGraph, node: Apply, shapes: list[SymbolicShape | None]) -> list[SymbolicShape | None]:
    del fgraph, node
    return shapes


def _slope(
    inputs: Sequence[TensorVariable], outputs: Sequence[TensorVariable], cotangents: Sequence[TensorVariable]
) -> list[TensorVariable]:
    del outputs
    return [cotangents[0] * inputs[0] * 2]


def _ends(x: Array) -> tuple[Array, Array]:
    # The first result shares the argument's memory.
    return x[::-1], np.array(x.shape[0])


def _end_shapes(
    fgraph: FunctionGraph, node: Apply, shapes: Sequence[SymbolicShape | None]
) -> list[SymbolicShape | None]:
    del fgraph, node
    return [shapes[0], ()]


def _turned(x: TensorVariable) -> object:
    kinds: list[Type | Callable[[], Variable]] = [tt.TensorType(x.dtype, (None, None)), tt.lscalar]
    return tuple(tt.wrap_py([x.type], kinds, _end_shapes)(_ends)(x))


SAMPLES: tuple[Sample, ...] = (
    Sample("square", F, _squared, lambda x: np.asarray(x * x), (_X,), wrt=(0,), variants=NO_SPECIAL, optional=True,
           fixed_shapes=True),
    Sample("several", F, _turned, lambda x: (x[::-1], np.array(x.shape[0])), (_X,), variants=NO_SPECIAL, optional=True,
           fixed_shapes=True),
)  # fmt: skip
