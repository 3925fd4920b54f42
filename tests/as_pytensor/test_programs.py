"""Programs written against PyTensor give on treadle what they give there; ``tools.pymc_values`` recorded that.

They run in a process of their own, in which pytensor is treadle.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.repo.tree import ROOT

VALUES = Path(__file__).parent / "values"
NAMES = sorted(path.stem for path in VALUES.glob("*.json"))


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.as_pytensor.worker"],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_program_has_recorded_values_and_no_other(answers: dict[str, Any]) -> None:
    assert sorted(answers) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_what_it_gives_on_pytensor(answers: dict[str, Any], name: str) -> None:
    answer = answers[name]
    assert isinstance(answer, dict), answer
    recorded = json.loads((VALUES / f"{name}.json").read_text(encoding="utf-8"))["values"]
    assert sorted(answer) == sorted(recorded)
    for key, value in recorded.items():
        assert answer[key]["dtype"] == value["dtype"], key
        expected = np.array(value["data"])
        if expected.dtype.kind == "U":
            assert answer[key]["data"] == value["data"], key
        else:
            # A gradient is compared as a vector: near zero, a difference counts by the size of the others.
            size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
            np.testing.assert_allclose(answer[key]["data"], expected, rtol=1e-10, atol=1e-10 * size, err_msg=key)
