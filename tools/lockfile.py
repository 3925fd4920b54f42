"""Read uv.lock: which third-party wheels the workspace needs, and whether they fit this interpreter.

Standard library and packaging, if need be pip's own copy: this runs before anything is installed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# pip's own copy serves before anything is installed. Later it would do harm: on Python 3.11 a process that has
# imported pip cannot load setuptools any more, which PyTorch's compiler needs.
_PACKAGING = "packaging" if find_spec("packaging") is not None else "pip._vendor.packaging"
_TAGS: Any = import_module(f"{_PACKAGING}.tags")
_UTILS: Any = import_module(f"{_PACKAGING}.utils")


@dataclass(frozen=True, slots=True)
class Locked:
    """One third-party package of the lock: its version and the names of its wheels."""

    name: str
    version: str
    wheels: tuple[str, ...]

    @property
    def pin(self) -> str:
        """The requirement that asks for exactly this version."""
        return f"{self.name}=={self.version}"

    def fitting_wheel(self) -> str | None:
        """Name the wheel that pip prefers on this interpreter, or None where none fits."""
        rank = {tag: position for position, tag in enumerate(_TAGS.sys_tags())}
        best: tuple[int, str] | None = None
        for wheel in self.wheels:
            ranks = [rank[tag] for tag in _UTILS.parse_wheel_filename(wheel)[3] if tag in rank]
            if ranks and (best is None or min(ranks) < best[0]):
                best = (min(ranks), wheel)
        return best[1] if best else None


def locked_packages(lock: Path, groups: Iterable[str]) -> list[Locked]:
    """List the third-party packages that the workspace and the dependency groups `groups` need, by name."""
    content = tomllib.loads(lock.read_text(encoding="utf-8"))
    records = {record["name"]: record for record in content["package"]}
    pending = [name for name, record in records.items() if "editable" in record["source"]]
    declared = content.get("manifest", {}).get("dependency-groups", {})
    pending += [entry["name"] for group in groups for entry in declared.get(group, ())]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in seen and name in records:
            seen.add(name)
            pending.extend(_requirements(records[name]))
    return [_locked(records[name]) for name in sorted(seen) if "editable" not in records[name]["source"]]


def _requirements(record: dict[str, Any]) -> Iterator[str]:
    """Yield the names that a lock record needs, those of its extras included."""
    for entry in record.get("dependencies", ()):
        yield entry["name"]
    for entries in record.get("optional-dependencies", {}).values():
        for entry in entries:
            yield entry["name"]


def _locked(record: dict[str, Any]) -> Locked:
    """Turn a lock record into a Locked."""
    wheels = tuple(sorted(Path(wheel["path"]).name for wheel in record.get("wheels", ())))
    return Locked(record["name"], record["version"], wheels)
