"""The table of all records: those of every family, and those that installed packages publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import installed_version
from treadle.tensor import load_families
from treadle.testing.published import AllSamples
from treadle.testing.records.composed import (
    linear_algebra_functions,
    linear_algebra_structured,
    linear_algebra_svd,
    linear_algebra_systems,
    numbers,
    sets,
    shapes,
    signals,
    values,
)

if TYPE_CHECKING:
    from treadle.graph import Op

_RECORDS = [
    *load_families("treadle.testing.records"),
    shapes,
    numbers,
    signals,
    sets,
    values,
    linear_algebra_functions,
    linear_algebra_svd,
    linear_algebra_structured,
    linear_algebra_systems,
]
if installed_version("pytensor-surface") is not None:
    from treadle.testing.records.composed import documented_values

    _RECORDS.append(documented_values)
SAMPLES = AllSamples(*(sample for family in _RECORDS for sample in family.SAMPLES))
# The dtypes at which an op has no record, from the constants with this name in the modules of records.
LEFT_OUT: dict[type[Op], tuple[str, ...]] = {
    op: dtypes for family in _RECORDS for op, dtypes in getattr(family, "LEFT_OUT", {}).items()
}
