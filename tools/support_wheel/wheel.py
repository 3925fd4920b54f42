"""Making the wheel of link-c-support: a copy of the package with the compiled files in it, and the platform's tags."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import shutil
import sysconfig
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.tags import sys_tags

from tools.environment import ROOT, WHEELHOUSE
from tools.release.environments import uv

if TYPE_CHECKING:
    from packaging.tags import Tag

PACKAGE = ROOT / "packages" / "link-c-support"
PREBUILT = Path("src/treadle/link/c_support/prebuilt")


def tag_here() -> Tag:
    """Return the tag of extensions that are compiled here, for this Python and platform."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", sysconfig.get_platform())
    return next(tag for tag in sys_tags() if tag.platform == name)


def stage(folder: Path) -> Path:
    """Copy the package's sources into a folder; return the place of the compiled files in it, which is empty."""
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", PREBUILT.name))
    place = folder / PREBUILT
    place.mkdir()
    return place


def make_wheel(staged: Path, target: Path) -> Path:
    """Build the wheel of a staged package, with the tags of this platform; return its file."""
    plain = staged.parent / "plain"
    places = ("--no-index", "--find-links", WHEELHOUSE, "--no-create-gitignore")
    uv("build", "--wheel", *places, "--out-dir", plain, staged)
    (wheel,) = plain.glob("*.whl")
    return tagged(wheel, tag_here(), target)


def tagged(wheel: Path, tag: Tag, target: Path) -> Path:
    """Write a wheel with another tag, as one that has compiled parts, into a folder; return its file."""
    stem = "-".join(wheel.stem.split("-")[:2])
    about, record = f"{stem}.dist-info/WHEEL", f"{stem}.dist-info/RECORD"
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    text = re.sub(r"(?m)^Tag: .*$", f"Tag: {tag}", files[about].decode())
    files[about] = re.sub(r"(?m)^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", text).encode()
    del files[record]
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for name, content in files.items():
        sha256 = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow([name, f"sha256={sha256}", len(content)])
    writer.writerow([record, "", ""])
    files[record] = rows.getvalue().encode()
    target.mkdir(parents=True, exist_ok=True)
    made = target / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # A time of its own, so that the same files make the same wheel.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return made
