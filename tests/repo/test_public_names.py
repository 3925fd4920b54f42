"""Names that were public once stay public, at every path: the list was made before modules moved into rooms."""

from __future__ import annotations

import csv
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

TABLE = Path(__file__).with_name("public_names.tsv")
# Their names need PyTorch, which not every machine has.
OF_PYTORCH = ("treadle.link.torch", "treadle.link.pytorch")


def names() -> dict[str, list[str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["path"]: row["names"].split() for row in csv.DictReader(file, delimiter="\t")}


def test_every_public_name_is_found_at_its_path() -> None:
    listed = names()
    assert sum(map(len, listed.values())) > 3000
    if find_spec("torch") is None:
        listed = {path: own for path, own in listed.items() if not path.startswith(OF_PYTORCH)}
    assert [
        (path, name) for path, own in listed.items() for name in own if not hasattr(import_module(path), name)
    ] == []
