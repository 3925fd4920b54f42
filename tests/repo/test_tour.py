"""docs/tour.py runs, and the modules that it points to exist."""

import re
import subprocess
import sys
from pkgutil import resolve_name

import pytest

from tests.repo.tree import ROOT

TOURS = {name: (ROOT / "docs" / f"{name}.py").read_text(encoding="utf-8") for name in ("tour", "tour_further")}
POINTED_TO = sorted(
    set(re.findall(r"treadle(?:\.\w+)+", " ".join(re.findall(r"# Whole: (.*)", "".join(TOURS.values())))))
)


@pytest.mark.parametrize(
    ("name", "output"),
    [("tour", "no lowering for softplus, softmax"), ("tour_further", "facts and loops: as they should be")],
)
def test_tour_runs(name: str, output: str) -> None:
    command = [sys.executable, "-m", f"docs.{name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert output in done.stdout


@pytest.mark.parametrize("name", POINTED_TO)
def test_tour_points_to_what_exists(name: str) -> None:
    assert resolve_name(name) is not None


def test_every_part_of_the_tour_points_to_the_whole() -> None:
    text = "".join(TOURS.values())
    parts = re.findall(r"^# \d+\. ", text, flags=re.MULTILINE)
    assert len(re.findall(r"^# Whole: ", text, flags=re.MULTILINE)) == len(parts) >= 11
