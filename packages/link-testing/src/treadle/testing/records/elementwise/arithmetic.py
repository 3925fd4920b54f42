"""Records of sums, products, quotients, signs and extrema."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import AWAY_FROM_INTEGERS, AWAY_FROM_ZERO, NONZERO, REAL, WIDE, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import FLOATS, NUMBERS, Sample

F = "arithmetic"
# x // y jumps where x / y is an integer: x from (0.1, 0.9) y.
_SMALL_SHARE = Domain(0.2, 0.8)
_DIVISOR = Domain(1.0, 3.0)
_SECOND_HALF = Domain(-3.0, 3.0, distinct=True)


SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "add", tt.add, np.add, WIDE, WIDE, wrt=(0, 1), signed_zeros=True),
    elementwise(F, "sub", tt.sub, np.subtract, WIDE, WIDE, dtypes=NUMBERS, wrt=(0, 1), signed_zeros=True),
    elementwise(F, "mul", tt.mul, np.multiply, WIDE, WIDE, wrt=(0, 1), signed_zeros=True),
    elementwise(F, "true_div", tt.true_div, np.true_divide, REAL, NONZERO, wrt=(0, 1), signed_zeros=True),
    elementwise(F, "floor_div", tt.floor_div, np.floor_divide, WIDE, NONZERO),
    elementwise(F, "floor_div_slope", tt.floor_div, np.floor_divide, _SMALL_SHARE, _DIVISOR, dtypes=FLOATS, wrt=(0, 1),
                takes_all=False),
    elementwise(F, "mod", tt.mod, np.remainder, WIDE, NONZERO),
    elementwise(F, "mod_slope", tt.mod, np.remainder, _SMALL_SHARE, _DIVISOR, dtypes=FLOATS, wrt=(0, 1),
                takes_all=False),
    elementwise(F, "neg", tt.neg, np.negative, WIDE, dtypes=NUMBERS, wrt=(0,), signed_zeros=True),
    elementwise(F, "sign", tt.sign, np.sign, AWAY_FROM_ZERO, dtypes=NUMBERS, wrt=(0,)),
    elementwise(F, "abs", tt.abs, np.absolute, AWAY_FROM_ZERO, wrt=(0,), signed_zeros=True),
    elementwise(F, "maximum", tt.maximum, np.maximum, REAL, REAL, wrt=(0, 1)),
    elementwise(F, "minimum", tt.minimum, np.minimum, REAL, REAL, wrt=(0, 1)),
    elementwise(
        F,
        "clip",
        lambda x, y: tt.clip(x, np.asarray(-1, x.dtype), y),
        lambda x, y: np.minimum(np.maximum(x, np.asarray(-1, x.dtype)), y),
        AWAY_FROM_INTEGERS,
        Domain(1.0, 2.0, kinks=(1.0, 2.0)),
        dtypes=("int8", "int32", "int64", "float32", "float64"),
        wrt=(0, 1),
        takes_all=False,
    ),
    elementwise(
        F,
        "python_numbers",
        lambda x: (x * 2 + 1, 1 - x, x / 2, 3 // x, x % 3, x**2),
        lambda x: (x * 2 + 1, 1 - x, x / 2, 3 // x, x % 3, x**2),
        Domain(1.1, 4.0, kinks=(1.5, 3.0), zero=False, special=False),
        dtypes=NUMBERS,
        wrt=(0,),
        takes_all=False,
    ),
    *(
        elementwise(
            F,
            f"{name}_{other}",
            getattr(tt, name),
            function,
            NONZERO,
            NONZERO,
            dtypes=("bool", "int8", "int64", "uint64", "float32", "float64"),
            fixed=(None, other),
            takes_all=False,
        )
        for name, function in (("add", np.add), ("mul", np.multiply), ("true_div", np.true_divide),
                               ("floor_div", np.floor_divide), ("mod", np.remainder), ("maximum", np.maximum))
        for other in ("int16", "uint8", "float32")
    ),
)  # fmt: skip
