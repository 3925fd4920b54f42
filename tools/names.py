"""Write the tables of the names of `treadle.tensor`, from the ``__all__`` of its modules: part of `./dev pages`.

A name stands once, in the ``__all__`` of the module that defines it. The table says which module to import when it is
asked for; type checkers, which take no names from a table, read star imports that are written with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.paths import MARK

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("packages/tensor/src/treadle/tensor")
TABLE = "names.py"
# Each table, and the package whose names it has.
PACKAGES: Mapping[str, str] = {"LAZY": "", "LINALG": "linalg", "RANDOM": "random"}
# Rooms without public names, and modules whose names are public elsewhere: at paths in tools/paths.tsv.
PRIVATE = ("rewrites", "lower_vm", "loops.scan.views")
# Modules whose names are of `treadle.tensor`, though they stand in another package or in no room.
OF_TENSOR = (
    "linalg.norms",
    "random.generators.compiled_samplers",
    "random.generators.generator_draws",
    "random.generators.lanes",
    "random.generators.portable_draws",
)
STARS = "if TYPE_CHECKING:  # written by `./dev pages`"
TITLE = '''"""Public names of `treadle.tensor`, by the modules imported when one is asked for; written by `./dev pages`.

For each module the names of its ``__all__``. One line for each module, however long: these are tables.
"""
'''


def exported(path: Path) -> tuple[str, ...]:
    """Return the ``__all__`` of a module, in alphabetical order."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return tuple(sorted(names))
    return ()


def gathered(package: Path) -> frozenset[str]:
    """Return the modules that a package's ``__init__`` imports names from when it runs: they need no table."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    return frozenset(node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module is not None)


def _is_listed(path: Path, module: str, source: Path) -> bool:
    held = any(f"treadle.tensor.{module}" in gathered(folder) for folder in (source, path.parent))
    private = any(f"{module}.".startswith(f"{start}.") for start in PRIVATE)
    return not (held or private or MARK in path.read_text(encoding="utf-8")) and bool(exported(path))


def tables(root: Path = ROOT) -> Mapping[str, Mapping[str, str]]:
    """Return for each table, for each module inside its package, the module's names, separated by spaces."""
    source = root / SOURCE
    found: dict[str, dict[str, str]] = {table: {} for table in PACKAGES}
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        room, _, inside = module.partition(".")
        if path.name != "__init__.py" and (inside or module in OF_TENSOR) and _is_listed(path, module, source):
            own = {name: table for table, name in PACKAGES.items()}.get(room)
            if own is None or inside.startswith("ops.") or module in OF_TENSOR:
                found["LAZY"][module] = " ".join(exported(path))
            else:
                found[own][inside] = " ".join(exported(path))
    return {table: dict(sorted(rows.items())) for table, rows in found.items()}


def text(found: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of the module of tables: `found` are the `tables`."""
    parts = [TITLE]
    for table, rows in found.items():
        whose = ".".join(filter(None, ("treadle.tensor", PACKAGES[table])))
        lines = [f'    "{module}": "{names}",' for module, names in rows.items()]
        parts.append("\n".join([f"# Of `{whose}`.", f"{table} = {{", *lines, "}", ""]))
    return "\n".join(parts)


def with_stars(table: str, modules: Iterable[str], root: Path = ROOT) -> tuple[Path, str]:
    """Return the ``__init__`` of a table's package, and its text with star imports of modules for type checkers."""
    package = PACKAGES[table]
    path = root / SOURCE / package / "__init__.py"
    whose = ".".join(filter(None, ("treadle.tensor", package)))
    before, _, after = path.read_text(encoding="utf-8").partition(f"{STARS}\n")
    rest = after.lstrip("\n").splitlines(keepends=True)
    while rest and rest[0].startswith("    from "):
        rest.pop(0)
    stars = "".join(f"    from {whose}.{module} import *  # noqa: F403\n" for module in modules)
    return path, f"{before}{STARS}\n{stars}{''.join(rest)}"


def write(root: Path = ROOT) -> list[Path]:
    """Write the tables and the star imports of a checkout; return the files that changed."""
    found = tables(root)
    texts = {root / SOURCE / TABLE: text(found), **dict(with_stars(table, found[table], root) for table in PACKAGES)}
    changed = [path for path, new in texts.items() if path.read_text(encoding="utf-8") != new]
    for path in changed:
        path.write_text(texts[path], encoding="utf-8")
    return changed
