"""Making records of composed functions: one expression in NumPy's names, evaluated by treadle and by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import Domain
from treadle.testing.operands import number, of_shape
from treadle.testing.sample import COMPOSED, Operand, Sample, Traits

# Numbers without ties, and far from the kinks of functions.
APART = Domain(0.3, 2.7, special=False)
SCALAR = of_shape((), domain=APART)
VECTOR = of_shape((5,), empty=(0,), domain=APART)
POINTS = of_shape((5,), domain=APART)
MATRIX = of_shape((3, 4), empty=(0, 4), domain=APART)
CUBE = of_shape((2, 3, 4), empty=(2, 0, 4), domain=APART)
COUNT = number(3)
FLOAT = ("float64",)
BOTH = ("int64", "float64")


def both(
    area: str, name: str, expression: Callable[..., object], *operands: Operand, **traits: Unpack[Traits]
) -> Sample:
    """Return a record of an expression that takes a namespace, treadle's or NumPy's, and arrays."""
    return apart(area, name, partial(expression, tt), partial(expression, np), *operands, **traits)


def apart(
    area: str,
    name: str,
    build: Callable[..., object],
    oracle: Callable[..., Any],
    *operands: Operand,
    **traits: Unpack[Traits],
) -> Sample:
    """Return a record of an expression that is written differently in NumPy."""
    defaults: Traits = {"dtypes": FLOAT, "kinds": COMPOSED, "variants": ("plain", "empty"), "order": 1, **traits}
    return Sample(name, area, build, oracle, operands, **defaults)
