"""PyMC on treadle: each program gives what it gives on PyTensor. ``./dev pymc`` runs these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

VALUES = Path(__file__).parent / "values"
NAMES = sorted(path.stem for path in VALUES.glob("*.json"))

# What PyMC and what it imports warn of is no concern of ours; what treadle warns of does not stop a program either.
pytestmark = [pytest.mark.pymc, pytest.mark.filterwarnings("default")]


def recorded(name: str) -> dict[str, Any]:
    """Return the arrays that a program gave on PyTensor."""
    values = json.loads((VALUES / f"{name}.json").read_text(encoding="utf-8"))["values"]
    return {key: np.array(value["data"], dtype=value["dtype"]) for key, value in values.items()}


def test_every_program_has_recorded_values_and_no_other() -> None:
    from tests.pymc.programs import PROGRAMS

    assert sorted(PROGRAMS) == NAMES


def test_pymc_runs_on_treadle() -> None:
    import pymc
    import pytensor

    import treadle.as_pytensor

    assert treadle.as_pytensor.is_installed()
    assert pymc.__version__.startswith("6.4.")
    assert pytensor.shared.__module__.startswith("treadle.")


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_what_it_gives_on_pytensor(name: str) -> None:
    from tests.pymc.programs import PROGRAMS

    program = PROGRAMS[name]
    results, expected = program.run(), recorded(name)
    assert sorted(results) == sorted(expected)
    for key, value in expected.items():
        result = np.asarray(results[key])
        assert result.shape == value.shape, key
        if value.dtype.kind == "U":
            assert result.tolist() == value.tolist(), key
            continue
        assert result.dtype == value.dtype, key
        # Near zero, a difference counts by the size of its neighbours: a gradient is compared as a vector.
        finite = np.abs(value[np.isfinite(value)])
        size = finite.max(initial=0.0) if value.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(
            result, value, rtol=program.tolerance, atol=program.tolerance * max(size, 1.0), err_msg=key
        )
