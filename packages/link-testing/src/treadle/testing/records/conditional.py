"""Records of choices between branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE
from treadle.testing.records.structured import NO_SPECIAL, number, of_shape
from treadle.testing.sample import FLOATS, Sample

F = "conditional"
_X = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97))
_Y = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97))
_WIDE = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE)


def _products(c: Any, x: Any, y: Any) -> Any:
    return tt.ifelse(c, x * x, y * x)


def _nested(c: Any, x: Any, y: Any) -> Any:
    return tt.ifelse(c > 1, x * y, tt.ifelse(c > 0, x * x, y))


def _guarded(c: Any, x: Any) -> Any:
    # The logarithm of numbers below 0, and its derivatives, must leave no trace.
    return tt.ifelse(c, tt.log(x), x * x)


SAMPLES: tuple[Sample, ...] = (
    Sample("first", F, _products, lambda c, x, y: np.asarray(x * x), (number(2), _X, _Y), wrt=(1, 2),
           variants=NO_SPECIAL),
    Sample("second", F, _products, lambda c, x, y: np.asarray(y * x), (number(0), _X, _Y), wrt=(1, 2),
           variants=NO_SPECIAL),
    Sample("passed_on", F, lambda c, x, y: tt.ifelse(c, x, y), lambda c, x, y: x, (number(1, "bool"), _WIDE, _WIDE),
           wrt=(1, 2)),
    Sample("several", F, lambda c, x, y: tuple(tt.ifelse(c, (x, y, x * y), (y, x, x))),
           lambda c, x, y: (y, x, x), (number(0.0, "float64"), _X, _Y), wrt=(1, 2), variants=NO_SPECIAL),
    *(
        Sample(f"nested_{name}", F, _nested, oracle, (number(value), _X, _Y), wrt=(1, 2), variants=NO_SPECIAL)
        for name, value, oracle in (
            ("outer", 2, lambda c, x, y: np.asarray(x * y)),
            ("inner", 1, lambda c, x, y: np.asarray(x * x)),
            ("neither", 0, lambda c, x, y: y),
        )
    ),
    Sample("of_scalars", F, lambda c, x, y: tt.ifelse(c, x, y), lambda c, x, y: x if c else y,
           (of_shape(()), of_shape(()), of_shape(())), wrt=(1, 2), variants=("plain", "readonly")),
    Sample("used_twice", F, lambda c, x: tt.ifelse(c, x[::-1], x) * x, lambda c, x: np.asarray(x[::-1] * x),
           (number(1), _X), wrt=(1,), variants=NO_SPECIAL),
    Sample("guarded", F, _guarded, lambda c, x: np.asarray(x * x), (number(0), _X), dtypes=FLOATS, wrt=(1,),
           variants=NO_SPECIAL),
)  # fmt: skip
