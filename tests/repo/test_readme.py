"""The example in README runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.tree import ROOT
from treadle.compile import BACKENDS


def example() -> str:
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return block.group(1)


def test_the_example_is_short() -> None:
    assert len([line for line in example().splitlines() if line]) <= 20


@pytest.mark.parametrize("name", BACKENDS.names())
def test_the_example_lowers_the_loss_on_every_backend_that_works_here(name: str, tmp_path: Path) -> None:
    program = example().replace('mode="C"', f'mode="{name.upper()}"')
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    backend = BACKENDS.load(name)
    assert backend is not None
    if backend.unavailable() is None:
        assert done.returncode == 0, done.stderr
        assert float(done.stdout.split()[0]) == pytest.approx(0.16463383837960358, rel=1e-8)
    else:
        assert f"MissingBackendError: mode {name.upper()}" in done.stderr
