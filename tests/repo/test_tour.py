"""docs/tour.py runs, and the modules that it points to exist."""

import re
import subprocess
import sys
from pkgutil import resolve_name

import pytest

from tests.repo.tree import ROOT

TOUR = ROOT / "docs" / "tour.py"
POINTED_TO = sorted(set(re.findall(r"treadle(?:\.\w+)+", " ".join(re.findall(r"# Whole: (.*)", TOUR.read_text())))))


def test_tour_runs() -> None:
    done = subprocess.run([sys.executable, str(TOUR)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no lowering for softplus, softmax" in done.stdout


@pytest.mark.parametrize("name", POINTED_TO)
def test_tour_points_to_what_exists(name: str) -> None:
    assert resolve_name(name) is not None


def test_every_part_of_the_tour_points_to_the_whole() -> None:
    parts = re.findall(r"^# \d+\. ", TOUR.read_text(), flags=re.MULTILINE)
    assert len(re.findall(r"^# Whole: ", TOUR.read_text(), flags=re.MULTILINE)) == len(parts) >= 9
