"""The map in CONTRIBUTING.md says where things are."""

import re
from pathlib import Path

import pytest

from tests.repo.tree import ROOT, shown
from treadle.tensor import FAMILIES
from treadle.tensor.families import ROOMS

ROW = re.compile(r"^\| (?P<what>.+?) \| `(?P<path>[^`]*<family>\.py)`.* \| (?P<which>all|some) \|$", re.MULTILINE)
ROWS = [row.groupdict() for row in ROW.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))]
# Modules beside those of families that are published, shared, or of elementwise functions of all families.
SHARED = {"__init__", "function_samples", "random", "registration", "scalar", "structured", "table"}


def test_the_map_has_rows_of_both_kinds() -> None:
    assert {row["which"] for row in ROWS} == {"all", "some"}
    assert len(ROWS) == 5


def test_every_family_has_its_ops_where_the_map_says() -> None:
    places = [row["path"] for row in ROWS if row["which"] == "all"]

    def path(place: str, family: str) -> Path:
        return ROOT / place.replace("<room>", ROOMS[family].replace(".", "/")).replace("<family>", family)

    paths_of = {f: [p for p in places if path(p, f).is_file()] for f in FAMILIES}
    assert {family: paths for family, paths in paths_of.items() if len(paths) != 1} == {}


@pytest.mark.parametrize("path", [row["path"] for row in ROWS if row["which"] == "some"])
def test_what_stands_in_a_place_of_the_map_is_of_a_family(path: str) -> None:
    # A row for C stands for the other compiling backends too.
    places = {path, *(path.replace("link-c", f"link-{x}").replace("/c/", f"/{x}/") for x in ("numba", "jax", "torch"))}
    folders = {room.partition(".")[0] or "control" for room in ROOMS.values()} if "<room>" in path else {""}
    patterns = [place.replace("<room>", folder).replace("<family>", "*") for place in places for folder in folders]
    files = [file for pattern in patterns for file in ROOT.glob(pattern)]
    assert len(files) > 4
    assert [shown(file) for file in files if file.stem not in {*FAMILIES, *SHARED}] == []
    # Each stands in the folder of its room: those of copying, whose ops are of graphs, in that of control.
    rooms = {family: ROOMS[family].partition(".")[0] or "control" for family in FAMILIES}
    inside = [file for file in files if file.stem in rooms and "<room>" in path]
    assert [shown(file) for file in inside if file.parent.name != rooms[file.stem]] == []


def test_rules_stand_in_the_rooms_of_the_ops_that_they_are_about() -> None:
    sets = [
        file for file in ROOT.glob("packages/*/src/treadle/tensor/**/*.py") if "\nRULES = RuleSet(" in file.read_text()
    ]
    rooms = {file.parent.name if file.stem != "rules" else "rules" for file in sets}
    assert len(sets) > 40
    assert rooms == {"rules", "general"}
