"""The wheel with compiled files: its tags, and the whole of it, built and used."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from typing import TYPE_CHECKING

import pytest
from packaging.tags import Tag

from tools.environment import ROOT
from tools.release.archives import record_faults, wheel_files
from tools.support_wheel.wheel import tag_here, tagged
from treadle.link.c.support.levels import LEVELS, processor_level
from treadle.link.c.support.prebuilt import GROUP

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function

w, x = tt.dmatrix("w"), tt.dmatrix("x")
loss = (tt.tanh(x @ w) ** 2).mean()
f = function([x, w], [loss, tt.grad(loss, w)], mode="C")
print(type(f.__call__).__name__, *(float(np.sum(each)) for each in f(np.eye(3), np.eye(3))))
"""


def test_tags_are_of_this_python_and_platform() -> None:
    tag = tag_here()
    assert tag.interpreter == f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert tag.abi.startswith(tag.interpreter)
    assert tag.platform == f"linux_{os.uname().machine}"


def test_wheel_with_another_tag_says_so_and_is_consistent(tmp_path: Path) -> None:
    about = "loom-1.0.dist-info"
    plain = tmp_path / "loom-1.0-py3-none-any.whl"
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("loom/__init__.py", "")
        archive.writestr("loom/part.a", b"\0\1")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "loom/__init__.py,,\n")
    made = tagged(plain, Tag("cp311", "cp311", "linux_x86_64"), tmp_path / "other")
    assert made.name == "loom-1.0-cp311-cp311-linux_x86_64.whl"
    files = wheel_files(made)
    assert files.keys() == {"loom/__init__.py", "loom/part.a", f"{about}/WHEEL", f"{about}/RECORD"}
    assert files[f"{about}/WHEEL"].decode() == (
        "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n"
    )
    assert list(record_faults(files, f"{about}/RECORD")) == []
    again = tagged(plain, Tag("cp311", "cp311", "linux_x86_64"), tmp_path)
    assert again.read_bytes() == made.read_bytes()


@pytest.mark.slow
def test_whole_wheel_spares_the_first_process_all_compilation_of_helpers(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    command = [sys.executable, "-m", "tools.support_wheel", "--out-dir", str(dist)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = dist.iterdir()
    assert wheel.stat().st_size < 15 << 20
    names = wheel_files(wheel).keys()
    levels = {name.split("/")[4] for name in names if name.endswith(".a")}
    assert levels == {level.name for level in LEVELS[os.uname().machine]}
    assert f"[{GROUP}]" in wheel_files(wheel)["link_c_support-1.0.0.dist-info/entry_points.txt"].decode()
    # An environment of its own, beside which the other distributions are those of this one.
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = (python, "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps", wheel)
    subprocess.run(install, check=True, capture_output=True)
    (site,) = (tmp_path / "venv").glob("lib/*/site-packages")
    flags = f"base_compiledir={tmp_path / 'compiled'},compiler_verbose=True"
    env = {**os.environ, "TREADLE_FLAGS": flags, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    caller, loss, slope = done.stdout.split()
    assert caller == "Caller"
    assert float(loss) == pytest.approx(0.19334188612865796, rel=1e-8)
    assert float(slope) == pytest.approx(0.21323333614974155, rel=1e-8)
    assert f"prebuilt/{processor_level()}/" in done.stderr
    # Whether the C library has functions on vectors is asked of the compiler, and nothing is compiled for it.
    assert not [*(tmp_path / "compiled").rglob("support/*/*.so")]
