"""The table of all records: those of every family, and those that installed packages publish."""

from __future__ import annotations

from treadle.config import installed_version
from treadle.graph import Op
from treadle.tensor import load_families
from treadle.testing.published import AllSamples, published
from treadle.testing.records.composed import (
    numbers,
    sets,
    shapes,
    values,
)
from treadle.testing.sample import LeftOut

_RECORDS = [
    *load_families("treadle.testing.records"),
    shapes,
    numbers,
    sets,
    values,
]
if installed_version("pytensor-surface") is not None:
    from treadle.testing.records.composed import documented_values

    _RECORDS.append(documented_values)
SAMPLES = AllSamples(*(sample for family in _RECORDS for sample in family.SAMPLES))


def left_out() -> dict[type[Op], tuple[str, ...]]:
    """Return the dtypes at which ops have no record: the constants LEFT_OUT of our modules, and what others publish."""
    own = {op: dtypes for family in _RECORDS for op, dtypes in getattr(family, "LEFT_OUT", {}).items()}
    return own | {row.op: row.dtypes for rows in published(LeftOut).values() for row in rows}
