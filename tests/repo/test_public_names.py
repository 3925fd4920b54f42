"""Names that were public once stay public, at every path: the list was made before modules moved into rooms."""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path

TABLE = Path(__file__).with_name("public_names.tsv")


def names() -> dict[str, list[str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["path"]: row["names"].split() for row in csv.DictReader(file, delimiter="\t")}


def test_every_public_name_is_found_at_its_path() -> None:
    listed = names()
    assert sum(map(len, listed.values())) > 3000
    assert [
        (path, name) for path, own in listed.items() for name in own if not hasattr(import_module(path), name)
    ] == []
