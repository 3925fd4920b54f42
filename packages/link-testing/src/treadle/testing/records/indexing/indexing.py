"""Records of indexing, and of setting and incrementing indexed elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import WIDE, Array
from treadle.testing.operands import SAME_SHAPE, number, of_shape, positions
from treadle.testing.sample import MAJOR, REALS, Operand, Sample, Traits, costly

# An index expression, for variables and for arrays.
Take = Callable[..., Any]


F = "indexing"
_X = of_shape((5, 4), domain=WIDE)
_LONG = of_shape((5, 4), empty=(5, 0), long=(64, 97), domain=WIDE)
_CUBE = of_shape((3, 4, 5), domain=WIDE)
_MASK = np.array([True, False, True, True, False])
_TAKEN = ("plain", "empty", "long", "special", "fortran", "strided", "reversed", "readonly")

# One or two ways of using each op at every dtype; the others at the major ones.
_EVERYWHERE = {"tail", "between", "steps", "picked_rows", "picked_in_slices", "scalar", "repeated", "picked_columns"}


def _dtypes(name: str) -> tuple[str, ...]:
    return REALS if name in _EVERYWHERE else MAJOR


def _parts(arrays: Sequence[Array]) -> list[int | Array]:
    return [int(a) if a.ndim == 0 else a for a in arrays]


def _taking(name: str, take: Take, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    """Return the record of an index expression."""

    def oracle(x: Array, *parts: Array) -> Array:
        return np.array(take(x, *_parts(parts)))

    traits: Traits = {"dtypes": _dtypes(name), "wrt": (0,), "variants": SAME_SHAPE, **record}
    return Sample(name, F, take, oracle, operands, **traits)


def _writing(
    name: str, take: Take, *operands: Operand, repeats: bool = False, **record: Unpack[Traits]
) -> tuple[Sample, ...]:
    """Return the records of setting and incrementing the elements of an index expression."""

    def set_oracle(x: Array, y: Array, *parts: Array) -> Array:
        result = x.copy()
        result[take(_ITSELF, *_parts(parts))] = y
        return result

    def inc_oracle(x: Array, y: Array, *parts: Array) -> Array:
        result = x.copy()
        (np.logical_or if x.dtype == bool else np.add).at(result, take(_ITSELF, *_parts(parts)), y)
        return result

    def set_build(x: TensorVariable, y: TensorVariable, *parts: TensorVariable) -> TensorVariable:
        return tt.set_subtensor(take(x, *parts), y)

    def inc_build(x: TensorVariable, y: TensorVariable, *parts: TensorVariable) -> TensorVariable:
        return tt.inc_subtensor(take(x, *parts), y)

    traits: Traits = {"wrt": (0, 1), "variants": SAME_SHAPE, "dtypes": _dtypes(name), **record}
    increment = Sample(f"inc_{name}", F, inc_build, inc_oracle, operands, **traits)
    # Which of several values is set at one position is not defined.
    return (increment,) if repeats else (Sample(f"set_{name}", F, set_build, set_oracle, operands, **traits), increment)


class _Itself:
    """An object whose indexing returns the index."""

    __slots__ = ()

    def __getitem__(self, index: object) -> object:
        return index


_ITSELF = _Itself()

SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _taking("row", lambda x: x[1], _LONG, variants=_TAKEN),
    _taking("last", lambda x: x[-1, -2], _X),
    _taking("tail", lambda x: x[1:], _LONG, variants=_TAKEN),
    _taking("turned", lambda x: x[::-1], _LONG, variants=_TAKEN),
    _taking("steps", lambda x: x[4:0:-2, ::3], _X),
    _taking("clipped", lambda x: x[-100:100, 7:], _X),
    _taking("new_axes", lambda x: x[None, 1:3, ..., None], _X),
    _taking("everything", lambda x: x[:], _X),
    _taking("at", lambda x, i, j: x[i, j], _X, number(2), number(-1)),
    _taking("at_uint8", lambda x, i: x[i], _X, number(3, "uint8")),
    _taking("between", lambda x, i, j: x[i:j], _X, number(1), number(-1), ragged=(1, 2)),
    _taking("between_clipped", lambda x, i, j: x[i:j, j:i], _X, number(-9), number(9), ragged=(1, 2)),
    _taking("stepped", lambda x, i: x[::i], _X, number(-2), ragged=(1,)),
    _taking("view_of_view", lambda x: x[1:].T[::-1, 1], _X),
    _taking("picked_rows", lambda x, i: x[i], _LONG, positions(0, 4, -1, 0, 2), variants=_TAKEN),
    _taking("picked_columns", lambda x, i: x[:, i], _X, positions(3, -1, 0, 0, dtype="int32")),
    _taking("picked_by_uint8", lambda x, i: x[i], _X, positions(3, 1, dtype="uint8")),
    _taking("picked_pairs", lambda x, i, j: x[i, j], _X, positions(0, 4, 2), positions(1, -1, 1)),
    _taking("picked_grid", lambda x, i, j: x[i, j], _X, positions(0, 4, shape=(2, 1)), positions(1, -1, 1)),
    _taking("picked_apart", lambda x, i, j: x[i, :, j], _CUBE, positions(0, -1), positions(4, 1)),
    _taking("picked_together", lambda x, i, j: x[:, i, j], _CUBE, positions(0, -1), positions(4, 1)),
    _taking("picked_in_slices", lambda x, i: x[1:, i, ::-2], _CUBE, positions(0, -1, 2, 1, shape=(2, 2))),
    _taking("picked_beside_position", lambda x, i: x[1, :, i], _CUBE, positions(0, -1)),
    _taking("picked_none", lambda x, i: x[i], _X, positions()),
    _taking("picked_by_mask", lambda x: x[_MASK], _X),
    _taking("picked_constant", lambda x: x[[0, 3, 3]], _X),
    Sample("take", F, lambda x, i: tt.take(x, i, axis=1), lambda x, i: np.take(x, i, axis=1),
           (_X, positions(0, 3, 1, 2, shape=(2, 2))), MAJOR, (0,), variants=SAME_SHAPE),
    Sample("take_flat", F, tt.take, np.take, (_X, positions(0, 19, -1)), MAJOR, (0,), variants=SAME_SHAPE),
    *_writing("row", lambda x: x[1], _LONG, of_shape((4,), empty=(0,), long=(97,))),
    *_writing("tail", lambda x: x[1:], _X, of_shape((4, 4))),
    *_writing("broadcast", lambda x: x[1:3], _X, of_shape((1, 4), broadcast=(2, 1)),
              variants=("plain", "broadcast", "strided", "reversed", "readonly")),
    *_writing("scalar", lambda x: x[::2, 1:], _X, of_shape(())),
    *_writing("turned", lambda x: x[::-2], _X, of_shape((3, 4))),
    *_writing("at", lambda x, i, j: x[i, j], _X, of_shape(()), number(2), number(-1)),
    *_writing("between", lambda x, i, j: x[i:j], _X, of_shape(()), number(1), number(-1), ragged=(2, 3)),
    *_writing("everything", lambda x: x[:2, :], _X, of_shape((2, 4))),
    *_writing("picked_rows", lambda x, i: x[i], _X, of_shape((3, 4)), positions(0, 4, -2)),
    *_writing("picked_columns", lambda x, i: x[:, i], _X, of_shape((5, 2)), positions(-1, 0, dtype="int32")),
    *_writing("picked_pairs", lambda x, i, j: x[i, j], _X, of_shape(()), positions(0, 4, 2), positions(1, -1, 1)),
    *_writing("picked_apart", lambda x, i, j: x[i, :, j], _CUBE, of_shape((2, 4)), positions(0, -1), positions(4, 1)),
    *_writing("picked_in_slices", lambda x, i: x[1:, i, ::-2], _CUBE, of_shape((2, 2, 1, 3)),
              positions(0, -1, 2, 1, shape=(2, 2))),
    *_writing("picked_none", lambda x, i: x[i], _X, of_shape(()), positions()),
    *_writing("repeated", lambda x, i: x[i], _LONG, of_shape((4, 4), empty=(4, 0), long=(4, 97)),
              positions(2, 2, -3, 0), repeats=True, variants=("plain", "empty", "long", "strided", "readonly")),
    *_writing("repeated_pairs", lambda x, i, j: x[i, j], _X, of_shape((4,)), positions(2, 2, -3, 0),
              positions(1, 1, 1, -1), repeats=True),
)  # fmt: skip
