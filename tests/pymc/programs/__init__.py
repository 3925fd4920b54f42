"""Programs of PyMC: each builds a model and returns what it computes, as arrays by name.

They are run twice: with PyTensor, by ``tools.pymc_values``, which records what they return, and on treadle, by the test
beside this folder, which compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pymc.programs import (
    custom,
    distributions,
    families,
    hierarchical,
    inference,
    labelled,
    labelled_models,
    mixtures,
    multivariate,
    operations,
    processes,
    regression,
    survival,
    time_series,
)
from tests.pymc.programs.registry import registered

if TYPE_CHECKING:
    from tests.pymc.programs.registry import Program

PROGRAMS: dict[str, Program] = {}
for _module in (
    regression,
    hierarchical,
    multivariate,
    mixtures,
    time_series,
    processes,
    survival,
    families,
    distributions,
    custom,
    operations,
    labelled,
    labelled_models,
    inference,
):
    PROGRAMS.update(registered(_module.__name__))
