"""Write the modules at documented paths that hold names of other modules: part of what `./dev pages` runs.

tools/paths.tsv has for each path the module that a name comes from, and the documented names, ``name=other`` where it
is called otherwise there. A name may be listed before it exists: the module finds it when it is asked for. A path whose
module has contents of its own is left alone; it takes the further names from the table by hand.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from treadle.tensor.names import LAZY

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tools" / "paths.tsv"
# Which distribution the modules below a path belong to; the longest path counts.
OWNERS = {
    "treadle.link.pytorch": "link-torch",
    "treadle.tensor.special": "tensor",
    "treadle": "pytensor-surface",
}
# Modules whose names editors and type checkers see one by one: the star import of a package whose ``__all__`` is put
# together when it runs shows them a part.
SHOWN = ("treadle.tensor.special",)
# Modules of pytensor-surface itself, that hold names.
OWN = ("treadle.surface", "treadle.sparse.op_kinds")
MARK = "Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."


@cache
def table() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return for each path, for each module that names come from, the names as they are written in the table."""
    names_of: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            names_of[row["path"]][row["home"]] = tuple(row["names"].split())
    return {path: homes for path, homes in names_of.items() if all(map(_is_module, homes))}


def _is_module(name: str) -> bool:
    """Whether a module exists: paths wait for the modules that their names come from."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def file_of(path: str) -> Path:
    """Return where the module of a path is: one with modules below it, or at the top, is a package."""
    owner = OWNERS[max((p for p in OWNERS if f"{path}.".startswith(f"{p}.")), key=len)]
    folder = ROOT / "packages" / owner / "src" / Path(*path.split("."))
    is_package = _is_portion(path) or any(p.startswith(f"{path}.") for p in table())
    return folder / "__init__.py" if is_package else folder.with_suffix(".py")


def _is_portion(path: str) -> bool:
    """Whether a module stands in a namespace package."""
    return path.count(".") == 1 + path.startswith("treadle.link.")


def is_written(path: str) -> bool:
    """Whether the module of a path holds nothing but names of others."""
    spec = find_spec(path) if _is_module(path) else None
    return spec is None or spec.origin is None or MARK in Path(spec.origin).read_text(encoding="utf-8")


def missing() -> list[str]:
    """Return the listed names that do not exist yet, with the module that they would come from."""
    return [
        f"{path}: {home} has no {name.rpartition('=')[2]}"
        for path, homes in table().items()
        for home, names in homes.items()
        for name in names
        if not hasattr(import_module(home), name.rpartition("=")[2])
    ]


def text(path: str) -> str:
    """Return the text of a path's module."""
    homes = {home: names for home, names in table()[path].items() if names}
    if not homes:
        return f'"""{MARK}"""\n'
    lines = [f'"""{MARK}"""', "", "from typing import TYPE_CHECKING", "", "from treadle.config import lazy_names", ""]
    # Type checkers take the names from stars; they need not know which of them the path has. They see nothing above the
    # distribution that the path belongs to.
    visible_homes = [home for home in homes if not home.startswith("treadle.compile")]
    stars = sorted({*visible_homes[:1], *(home for home in visible_homes if home.startswith(OWN))})
    entries = [line for home, names in homes.items() for line in _entry(home, names)]
    if not stars:
        call = ["__getattr__ = lazy_names(", "    __name__,", "    {", *entries, "    },", ")"]
        return "\n".join([lines[0], "", "from treadle.config import lazy_names", "", *call, ""])
    if path in SHOWN:
        places = sorted((_place(home, name), name) for home, names in homes.items() for name in names)
        imports = [f"    from {place} import {_renamed(name)}" for place, name in places]
    else:
        imports = [f"    from {home} import *  # noqa: F403" for home in stars]
    lines += ["if TYPE_CHECKING:", *imports, "else:"]
    lines += ["    __getattr__ = lazy_names(", "        __name__,", "        {"]
    lines += [f"    {line}" for line in entries]
    return "\n".join([*lines, "        },", "    )", ""])


def _place(home: str, name: str) -> str:
    """Return the module that a name of a package is defined in, the package itself where no table says."""
    tables = LAZY if home == "treadle.tensor" else {}
    return next((f"{home}.{module}" for module, names in tables.items() if name in names.split()), home)


def _renamed(name: str) -> str:
    """Return a name, which may be written ``name=other``, as an import writes it that is there for others."""
    public, _, original = name.partition("=")
    return f"{original or public} as {public}"


def _entry(home: str, names: tuple[str, ...]) -> list[str]:
    rows, row = [], ""
    for name in names:
        if len(row) + len(name) > 101:
            rows.append(row)
            row = ""
        row += f"{name} "
    rows.append(row.rstrip())
    if len(rows) == 1 and len(home) + len(row) <= 101:
        return [f'        "{home}": "{rows[0]}",']
    return [f'        "{home}": (', *(f'            "{row}"' for row in rows), "        ),"]


def write() -> None:
    """Write the modules."""
    for path in table():
        if is_written(path):
            file = file_of(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text(path), encoding="utf-8")
            if _is_portion(path):
                (file.parent / "py.typed").touch()


if __name__ == "__main__":
    write()
