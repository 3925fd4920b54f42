"""Records of searches and counts, and of functions based on them: masks, gathering, histograms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE, Array
from treadle.testing.operands import SAME_SHAPE, of_shape, positions
from treadle.testing.sample import COMPOSED, MAJOR, NUMBERS, REALS, Function, Operand, Sample, Traits, costly

F = "searching"
# Masks are boolean and bins count int64, whatever the dtype of the group.
LEFT_OUT = {tt.Nonzero: NUMBERS, tt.CheckMask: NUMBERS, tt.BinCount: tuple(d for d in REALS if d != "int64")}
_X = of_shape((5, 4), domain=WIDE)
_LAYOUTS = ("plain", "empty", "long", "fortran", "strided", "reversed", "readonly")


def _mask(plain: tuple[int, ...], **more: tuple[int, ...]) -> Operand:
    def array(rng: np.random.Generator, shape: tuple[int, ...]) -> object:
        return rng.random(shape) < 0.5

    return Operand({"plain": plain, **more}, dtype="bool", values=array)


def _sorted(rng: np.random.Generator, shape: tuple[int, ...]) -> object:
    return np.sort(rng.integers(0, 9, shape), axis=-1)


_TALL = _mask((5,))
_WHOLE = _mask((5, 4), empty=(0, 4), long=(11, 97))


def _picked(name: str, take: Callable[..., object], *masks: Operand) -> Sample:
    """Return the record of an index with masks."""
    return Sample(
        name, F, take, take, (_X, *masks), MAJOR, (0,), variants=SAME_SHAPE, optional=True, ragged=(1,),
        computed_shape=True,
    )  # fmt: skip


def _composed(name: str, build: Function, oracle: Function, *operands: Operand, **traits: Unpack[Traits]) -> Sample:
    """Return the record of a function that is composed of other ops."""
    record: Traits = {
        "dtypes": ("float64",), "order": 1, "variants": ("plain",), "kinds": COMPOSED, "optional": True, **traits,
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **record)


def _changed(x: Array, mask: Array, values: object, add: bool) -> Array:
    changed = x.copy()
    # Not x[mask] += v, which bool does not have and which would hide a wrong dtype.
    changed[mask] = (
        (x[mask] | np.asarray(values, x.dtype)) if add and x.dtype == bool else x[mask] + values if add else values
    )
    return changed


def _put(function: Callable[..., None]) -> Function:
    """Return a pure version of a NumPy function that changes its first argument in place."""

    def oracle(x: Array, *rest: object) -> Array:
        function(x, *rest)
        return x

    return oracle


def _first_nine(mask: Array) -> tuple[Array, ...]:
    indices = (x[:9] for x in np.nonzero(mask))
    return tuple(np.concatenate([x, np.full(9 - x.size, -1)]) for x in indices)


def _four(x: Array) -> Array:
    smallest = np.unique(x)[:4]
    return np.concatenate([smallest, np.full(4 - smallest.size, 9.0)])


# Every element occurs more than once.
_TWICE = Operand({"plain": (4, 2)}, values=lambda *_: [[1, 2], [0, 2], [1, 2], [0, 1]])

SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    Sample("nonzero", F, tt.nonzero, np.nonzero, (_WHOLE,), ("bool",), variants=_LAYOUTS, optional=True,
           ragged=(0,), computed_shape=True),
    Sample("nonzero_of_vector", F, tt.flatnonzero, np.flatnonzero, (_TALL,), ("bool",), variants=SAME_SHAPE,
           optional=True, ragged=(0,), computed_shape=True),
    _picked("picked_by_mask", lambda x, m: x[m], _mask((5, 4))),
    _picked("rows_by_mask", lambda x, m: x[m], _TALL),
    _picked("columns_by_mask", lambda x, m: x[:, m], _mask((4,))),
    _picked("mask_beside_position", lambda x, m: x[m, 1], _TALL),
    Sample("set_by_mask", F, lambda x, m: x[m].set(3), lambda x, m: _changed(x, m, 3, add=False),
           (_X, _TALL), MAJOR, (0,), variants=SAME_SHAPE),
    Sample("inc_by_mask", F, lambda x, m: x[m].inc(True), lambda x, m: _changed(x, m, True, add=True),
           (_X, _mask((5, 4))), MAJOR, (0,), variants=SAME_SHAPE),
    *(
        Sample(f"searchsorted_{side}", F, lambda a, v, s=side: tt.searchsorted(a, v, s),
               lambda a, v, s=side: np.searchsorted(a, v, s),
               (Operand({"plain": (9,), "empty": (0,), "long": (97,)}, values=_sorted),
                Operand({"plain": (3, 4), "long": (11, 97)}, values=lambda rng, n: rng.integers(0, 11, n))),
               REALS, variants=("plain", "empty", "long", "strided", "reversed"))
        for side in ("left", "right")
    ),
    Sample("is_in", F, tt.isin, np.isin,
           (Operand({"plain": (3, 4), "long": (11, 97)}, values=lambda rng, n: rng.integers(0, 11, n)),
            Operand({"plain": (9,), "empty": (0,), "long": (97,)}, values=_sorted)),
           REALS, variants=("plain", "empty", "long", "fortran", "strided", "reversed")),
    Sample("bincount", F, tt.bincount, np.bincount, (positions(3, 0, 3, 7, 1, 0),), ("int64",),
           variants=("plain", "strided", "reversed"), optional=True, ragged=(0,), computed_shape=True),
    Sample("bincount_weighted", F, tt.bincount, np.bincount,
           (positions(3, 0, 3, 7, 1, 0), of_shape((6,), dtype="float64")), ("int64", "float64"), (1,),
           variants=("plain", "strided", "reversed"), optional=True, ragged=(0,), computed_shape=True),
    Sample("bincount_bounded", F, lambda x, w: tt.bincount(x, w, length=5),
           lambda x, w: np.bincount(x[x < 5], w[x < 5], minlength=5),
           (positions(3, 0, 3, 7, 1, 0), of_shape((6,), dtype="float64")), ("int64", "float64"), (1,),
           variants=("plain", "strided", "reversed")),
    Sample("nonzero_bounded", F, lambda m: tt.nonzero(m, size=9, fill_value=-1), _first_nine, (_mask((5, 4)),),
           ("bool",), variants=SAME_SHAPE),
    Sample("row_order", F, tt.RowOrder(), lambda x: np.lexsort(x.T[::-1]),
           (Operand({"plain": (9, 2), "empty": (0, 3), "long": (97, 3)}, values=lambda rng, n: rng.integers(0, 3, n)),),
           variants=("plain", "empty", "long", "fortran", "strided", "reversed"), ragged=(0,)),
    _composed("unique", lambda x: tt.unique(x, True, True, True), lambda x: np.unique(x, True, True, True), _TWICE,
              ragged=(0,), computed_shape=True),
    _composed("unique_rows", lambda x: tt.unique(x, True, True, True, axis=0),
              lambda x: np.unique(x, True, True, True, axis=0), _TWICE, ragged=(0,), computed_shape=True),
    _composed("unique_bounded", lambda x: tt.unique(x, size=4, fill_value=9.0), _four, _TWICE),
    _composed("isin", tt.isin, np.isin, _X, of_shape((3,), domain=WIDE)),
    _composed("setxor1d", tt.setxor1d, np.setxor1d, _TWICE, positions(7, 2, 2), ragged=(0, 1),
              computed_shape=True),
    _composed("union1d", tt.union1d, np.union1d, of_shape((4, 2)), of_shape((3,)), wrt=(0, 1), ragged=(0, 1),
              computed_shape=True),
    _composed("unravel_index", lambda i: tt.unravel_index(i, (3, 4)), lambda i: np.unravel_index(i, (3, 4)),
              positions(11, 0, 7)),
    _composed("ravel_multi_index", lambda i, j: tt.ravel_multi_index((i, j), (3, 4), "wrap"),
              lambda i, j: np.ravel_multi_index((i, j), (3, 4), "wrap"), positions(5, 0, -7), positions(5, 0, -7)),
    _composed("delete", lambda x, i: tt.delete(x, i, 0), lambda x, i: np.delete(x, i, 0), _X, positions(3, -1),
              wrt=(0,), ragged=(1,), computed_shape=True),
    _composed("insert", lambda x, i, v: tt.insert(x, i, v, 0), lambda x, i, v: np.insert(x, i, v, 0), _X,
              positions(3, -1, 3), of_shape((3, 4)), wrt=(0, 2)),
    _composed("trim_zeros", tt.trim_zeros, np.trim_zeros, positions(0, 0, 1, 0, 2, 0), ragged=(0,),
              computed_shape=True),
    _composed("take_along_axis", tt.take_along_axis, np.take_along_axis, _X, positions(3, -1, 0, 0, 1, shape=(5, 1)),
              wrt=(0,)),
    _composed("take_wrapped", lambda x, i: tt.take(x, i, 0, "wrap"), lambda x, i: np.take(x, i, 0, mode="wrap"), _X,
              positions(7, -9, 3), wrt=(0,)),
    _composed("take_clipped", lambda x, i: tt.take(x, i, 1, "clip"), lambda x, i: np.take(x, i, 1, mode="clip"), _X,
              positions(7, -9, 3), wrt=(0,)),
    _composed("put_along_axis", lambda x, i, v: tt.put_along_axis(x, i, v, 1),
              _put(lambda x, i, v: np.put_along_axis(x, i, v, 1)), _X, positions(3, -1, 0, 0, 1, shape=(5, 1)),
              of_shape((5, 1)), wrt=(0, 2)),
    _composed("put", tt.put, _put(np.put), _X, positions(3, -1, 7), of_shape((2,)), wrt=(0, 2)),
    _composed("place", tt.place, _put(np.place), _X, _mask((5, 4)), of_shape((3,)), wrt=(0, 2), ragged=(1,)),
    _composed("putmask", tt.putmask, _put(np.putmask), _X, _mask((5, 4)), of_shape((3,)), wrt=(0, 2)),
    _composed("choose", lambda a, x, y: tt.choose(a, [x, y]), lambda a, x, y: np.choose(a, [x, y]),
              positions(0, 1, 1, 0), _X, of_shape((4,)), wrt=(1, 2)),
    _composed("select", lambda x, y: tt.select([x > 1, x > 0], [x * y, x], 2.0),
              lambda x, y: np.select([x > 1, x > 0], [x * y, x], 2.0), _X, of_shape((4,)), wrt=(0, 1)),
    _composed("piecewise", lambda x: tt.piecewise(x, [x < 0, x > 1], [lambda v: -v, 10, lambda v: v * v]),
              lambda x: np.piecewise(x, [x < 0, x > 1], [lambda v: -v, 10, lambda v: v * v]), _X, wrt=(0,)),
    _composed("permute_row_elements", lambda x, p: tt.permute_row_elements(x, p, inverse=True),
              lambda x, p: np.take_along_axis(x, np.argsort(p)[None], -1), _X, positions(2, 0, 3, 1), wrt=(0,)),
    _composed("digitize", tt.digitize, np.digitize, _X, of_shape((1,))),
    _composed("histogram", lambda x, w: tt.histogram(x, 4, weights=w), lambda x, w: np.histogram(x, 4, weights=w),
              of_shape((5, 4)), of_shape((5, 4)), wrt=(1,)),
    _composed("histogram2d", lambda x, y: tt.histogram2d(x, y, 3)[0], lambda x, y: np.histogram2d(x, y, 3)[0],
              of_shape((9,)), of_shape((9,))),
)  # fmt: skip
