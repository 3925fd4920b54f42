"""The lock fits the packages, holds no addresses, and is covered by the committed digests."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from tests.repo.tree import ROOT, distributions
from tools.release.workspace import Project

LOCK: dict[str, Any] = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
RECORDS: dict[str, dict[str, Any]] = {record["name"]: record for record in LOCK["package"]}
ALL = distributions()


def normal(requirement: str) -> tuple[str, str]:
    """Split a requirement into its name, written as the lock writes it, and its version range."""
    name, versions = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[.*\])?(.*)", requirement).groups()  # type: ignore[union-attr]
    return re.sub(r"[-_.]+", "-", name).lower(), ",".join(sorted(versions.split(",")))


def locked(entries: list[dict[str, Any]]) -> set[str]:
    """List the names and ranges that the lock recorded for third parties."""
    pairs = [
        (entry["name"], ",".join(sorted(entry["specifier"].split(",")))) for entry in entries if "specifier" in entry
    ]
    return {f"{name} {versions}" for name, versions in pairs}


def test_the_lock_carries_no_addresses() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert {record["source"].get("registry", "wheelhouse") for record in RECORDS.values()} == {"wheelhouse"}


def test_pytorch_is_not_in_the_lock() -> None:
    assert "torch" not in RECORDS


@pytest.mark.parametrize("item", ALL, ids=[item.name for item in ALL])
def test_the_lock_was_made_from_the_present_requirements(item: Project) -> None:
    names = {other.name for other in ALL}
    declared = [normal(entry) for entry in item.declared_requirements]
    expected = {f"{name} {versions}" for name, versions in declared if name not in names}
    record = RECORDS[item.name]
    assert record["version"] == item.pyproject["project"]["version"]
    assert locked(record.get("metadata", {}).get("requires-dist", [])) == expected


def test_the_lock_was_made_from_the_present_dependency_groups() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    expected = {name: {" ".join(normal(entry)) for entry in entries} for name, entries in groups.items()}
    recorded = LOCK["manifest"]["dependency-groups"]
    assert {name: locked(entries) for name, entries in recorded.items()} == expected


def test_every_locked_wheel_has_its_digest() -> None:
    wheels = {wheel["path"] for record in RECORDS.values() for wheel in record.get("wheels", [])}
    lines = (ROOT / "wheelhouse.sha256").read_text(encoding="utf-8").splitlines()
    digests = {name: value for value, name in (line.split() for line in lines)}
    assert set(digests) == wheels
    assert all(re.fullmatch(r"[0-9a-f]{64}", value) for value in digests.values())


def test_dev_prefers_the_python_that_the_lock_is_for() -> None:
    markers = LOCK["supported-markers"][0]
    ceiling = int(re.search(r"python_full_version < '3\.(\d+)'", markers).group(1))  # type: ignore[union-attr]
    order = re.search(r"for name in (python3\.\d+) ", (ROOT / "dev").read_text(encoding="utf-8"))
    assert order is not None
    assert order.group(1) == f"python3.{ceiling - 1}"
