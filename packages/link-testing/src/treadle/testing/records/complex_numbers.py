"""Records with complex numbers, which a backend may refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import NONZERO, Domain
from treadle.testing.records.elementwise import elementwise
from treadle.testing.sample import Sample

F = "complex"
_PLANE = Domain(-2.0, 2.0, special=False)
_COMPLEX = ("complex64", "complex128")
_PARTS = ("float32", "float64")

_ALL = (
    *(
        elementwise(F, name, build, oracle, _PLANE, _PLANE, dtypes=_COMPLEX, takes_all=False)
        for name, build, oracle in (
            ("add", tt.add, np.add),
            ("mul", tt.mul, np.multiply),
            ("eq", tt.eq, np.equal),
        )
    ),
    elementwise(F, "abs", tt.abs, np.absolute, _PLANE, dtypes=_COMPLEX, takes_all=False),
    elementwise(F, "exp", tt.exp, np.exp, _PLANE, dtypes=_COMPLEX, takes_all=False),
    elementwise(
        F, "cast_complex64", lambda x: tt.cast(x, "complex64"), lambda x: x.astype("complex64"), NONZERO,
        dtypes=_PARTS, takes_all=False,
    ),
    elementwise(
        F, "cast_complex128", lambda x: tt.cast(x, "complex128"), lambda x: x.astype("complex128"), NONZERO,
        dtypes=_PARTS, takes_all=False,
    ),
)  # fmt: skip

SAMPLES: tuple[Sample, ...] = tuple(replace(sample, optional=True) for sample in _ALL)
