"""Records of reductions and of positions of extrema."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import DISTINCT, REAL, WIDE, Array, Domain
from treadle.testing.operands import NO_SPECIAL, SAME_SHAPE, of_shape
from treadle.testing.sample import (
    COMPOSED,
    FLOATS,
    MAJOR,
    NUMBERS,
    REALS,
    VARIANTS,
    Axis,
    Function,
    Operand,
    Sample,
    Traits,
)

F = "reduction"
_NEAR_ONE = Domain(0.7, 1.3)
# Their absolute values differ too.
_SIZES = Domain(-1.0, 2.9, distinct=True)
_LOSSY = {"float32": (1e-4, 1e-4), "float64": (1e-11, 1e-11)}

# Name, axis, keepdims, and rank.
_PLACES: tuple[tuple[str, Axis, bool, int], ...] = (
    ("all", None, False, 2),
    ("first", 0, False, 2),
    ("last_kept", -1, True, 2),
    ("outer", (0, 2), False, 3),
)


def _operand(ndim: int, domain: Domain, empty: bool) -> Operand:
    if ndim == 3:
        return of_shape(
            (2, 3, 4), broadcast=(1, 3, 1), empty=(2, 0, 4) if not empty else (0, 3, 4), long=(5, 7, 33), domain=domain
        )
    return of_shape((3, 4), broadcast=(1, 4), empty=(3, 0) if empty else (3, 4), long=(11, 97), domain=domain)


def _over(name: str, axis: Axis, keepdims: bool) -> Function:
    return lambda x: getattr(tt, name)(x, axis=axis, keepdims=keepdims)


def _numpy_over(name: str, axis: Axis, keepdims: bool) -> Function:
    return lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims)


def _position_over(name: str, axis: Axis, keepdims: bool) -> Function:
    def oracle(x: Array) -> Array:
        if isinstance(axis, tuple):
            # Several axes are counted in C order.
            flat = x.transpose(1, 0, 2).reshape(x.shape[1], x.shape[0] * x.shape[2])
            return np.asarray(getattr(np, name)(flat, axis=-1), "int64")
        return np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims), "int64")

    return oracle


def _everywhere(name: str, domain: Domain, *, empty: bool, **record: Unpack[Traits]) -> tuple[Sample, ...]:
    oracle = _position_over if name.startswith("arg") else _numpy_over
    samples = []
    for place, axis, keepdims, ndim in _PLACES:
        # Two places at every dtype, all of them at the major ones.
        traits: Traits = {"dtypes": REALS if place in {"all", "outer"} else MAJOR, **record}
        operands = (_operand(ndim, domain, empty),)
        build, expected = _over(name, axis, keepdims), oracle(name, axis, keepdims)
        samples.append(Sample(f"{name}_{place}", F, build, expected, operands, **traits))
    return tuple(samples)


def _float_mean(function: Function) -> Function:
    """Return an oracle of means, which are float64 for integers, as in NumPy."""

    def oracle(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(x.astype("float64"))).astype(x.dtype if x.dtype.kind == "f" else "float64")

    return oracle


def _masked(package: ModuleType, x: object) -> tuple[object, ...]:
    """Return reductions with a mask, by NumPy or by treadle."""
    return (
        package.sum(x, axis=0, where=_MASK, initial=2),
        package.prod(x, where=_MASK, initial=2),
        package.max(x, axis=0, where=_MASK, initial=1),
        package.any(x, axis=1, where=_MASK),
        package.all(x, where=_MASK),
        package.mean(x, axis=1, where=_MASK),
        package.std(x, axis=1, where=_MASK, correction=1),
        package.count_nonzero(x, axis=0, keepdims=True),
    )


def _statistics(package: ModuleType, x: object) -> tuple[object, ...]:
    """Return functions that are composed of reductions, by NumPy or by treadle."""
    return (
        package.average(x, axis=1, weights=np.array([1.0, 2.0, 0.5, 3.0])),
        package.cov(x, aweights=np.array([1.0, 2.0, 0.5, 3.0])),
        package.corrcoef(x, rowvar=False),
        package.median(x, axis=1),
        package.quantile(x, np.array([0.1, 0.5]), axis=0, method="hazen"),
        package.percentile(x, 30, method="lower"),
        package.nanquantile(x, 0.3, axis=1, keepdims=True),
        package.nanmean(x, axis=0),
        package.nanvar(x, axis=1, ddof=1),
        package.nanmax(x, axis=0),
        package.nancumsum(x, axis=1),
        package.diff(x, 2),
        package.trapezoid(x, axis=0),
    )


def _norms(norm: Callable[..., object], x: object) -> tuple[object, ...]:
    orders = ((None, None), (3, 0), (np.inf, 1), ("fro", None), (1, None), (-np.inf, None))
    return tuple(norm(x, order, axis=axis) for order, axis in orders)


_statistic = partial(Sample, family=F, variants=NO_SPECIAL, tolerances=_LOSSY, wrt=(0,))
# No, one, two and three zeros among the factors.
_HOLES = np.array([[[1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 1, 0]], [[1, 1, 1, 1], [1, 1, 1, 1], [1, 0, 1, 1]]], "int8")
_MATRIX = (_operand(2, REAL, empty=False),)
_MASK = np.array([True, False, True, True])
_CUBE = (_operand(3, REAL, empty=False),)

SAMPLES: tuple[Sample, ...] = (
    *_everywhere("sum", WIDE, empty=True, wrt=(0,), tolerances={"float32": (1e-4, 2e-2), "float64": (1e-11, 1e-8)}),
    *_everywhere("prod", _NEAR_ONE, empty=True, wrt=(0,), tolerances=_LOSSY),
    *_everywhere("max", DISTINCT, empty=False, wrt=(0,)),
    *_everywhere("min", DISTINCT, empty=False, wrt=(0,)),
    *_everywhere("all", REAL, empty=True),
    *_everywhere("any", REAL, empty=True),
    *_everywhere("argmax", REAL, empty=False),
    *_everywhere("argmin", REAL, empty=False),
    Sample("sum_nothing", F, lambda x: tt.sum(x, axis=()), lambda x: np.sum(x, axis=()), _MATRIX, wrt=(0,)),
    Sample("max_of_scalar", F, tt.max, np.max, (of_shape(()),), wrt=(0,)),
    Sample("argmax_of_scalar", F, tt.argmax, lambda x: np.asarray(np.argmax(x), "int64"), (of_shape(()),)),
    Sample("sum_of_scalar", F, tt.sum, np.sum, (of_shape(()),), wrt=(0,)),
    Sample("prod_with_zero", F, lambda x: tt.prod(x * np.array([1, 0, 1, 1], "int8")),
           lambda x: np.prod(x * np.array([1, 0, 1, 1], "int8")), (of_shape((4,)),), dtypes=FLOATS, wrt=(0,)),
    Sample("prod_with_zeros", F, lambda x: tt.prod(x * _HOLES, axis=(0, 2)), lambda x: np.prod(x * _HOLES, axis=(0, 2)),
           (of_shape((2, 3, 4)),), dtypes=FLOATS, wrt=(0,)),
    Sample("prod_in_float64", F, lambda x: tt.prod(x, axis=1, dtype="float64"),
           lambda x: np.prod(x, axis=1, dtype="float64"), _MATRIX, dtypes=NUMBERS, variants=NO_SPECIAL, wrt=(0,),
           tolerances={"float64": (1e-11, 1e-8)}),
    Sample("sum_in_float32", F, lambda x: tt.sum(x, axis=1, dtype="float32"),
           lambda x: np.sum(x, axis=1, dtype="float32"), _MATRIX, dtypes=NUMBERS, variants=NO_SPECIAL,
           tolerances={"float32": (1e-4, 1e-3)}),
    Sample("max_ties", F, lambda x: (tt.max(tt.round(x)), tt.argmax(tt.round(x), axis=1)),
           lambda x: (np.max(np.round(x)), np.asarray(np.argmax(np.round(x), axis=1), "int64")), _MATRIX,
           dtypes=NUMBERS),
    _statistic("mean_all", build=tt.mean, oracle=_float_mean(np.mean), operands=_MATRIX),
    _statistic("mean_first", build=lambda x: tt.mean(x, axis=0), oracle=_float_mean(partial(np.mean, axis=0)),
               operands=_CUBE, order=2),
    _statistic("var", build=lambda x: tt.var(x, axis=1), oracle=_float_mean(partial(np.var, axis=1)), operands=_CUBE),
    _statistic("var_corrected", build=lambda x: tt.var(x, ddof=1), oracle=_float_mean(partial(np.var, ddof=1)),
               operands=(of_shape((3, 4)),)),
    _statistic("std", build=lambda x: tt.std(x, axis=0, keepdims=True),
               oracle=_float_mean(partial(np.std, axis=0, keepdims=True)), operands=(of_shape((3, 4)),)),
    Sample("where", F, partial(_masked, tt), partial(_masked, np), (of_shape((3, 4), empty=(0, 4)),),
           dtypes=("int64", "float32", "float64"), wrt=(0,), variants=("plain", "empty"), kinds=COMPOSED,
           tolerances=_LOSSY),
    Sample("statistics", F, partial(_statistics, tt), partial(_statistics, np), (of_shape((3, 4), domain=DISTINCT),),
           dtypes=("float64",), wrt=(0,), variants=("plain", "strided"), kinds=COMPOSED, optional=True),
    Sample("norms", F, partial(_norms, tt.norm), partial(_norms, np.linalg.norm), (of_shape((3, 4), domain=_SIZES),),
           dtypes=("int64", "float64"), wrt=(0,), variants=SAME_SHAPE, kinds=COMPOSED),
    Sample("initial_of_none", F, lambda x: (tt.max(x, 0, initial=-5), tt.min(x, 0, initial=2)),
           lambda x: (np.max(x, 0, initial=-5), np.min(x, 0, initial=2)), (of_shape((3, 4), empty=(0, 4)),),
           dtypes=("int64", "float64"), wrt=(0,), kinds=COMPOSED),
    Sample("ptp", F, lambda x: tt.ptp(x, axis=0), lambda x: np.ptp(x, axis=0), (_operand(2, DISTINCT, empty=False),),
           dtypes=NUMBERS, wrt=(0,), variants=VARIANTS),
)  # fmt: skip
