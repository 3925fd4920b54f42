"""Write the tables of the names of `treadle.tensor`, from the ``__all__`` of its modules: part of `./dev pages`.

A name stands once, in the ``__all__`` of the module that defines it. The tables say which module to import when it is
asked for; type checkers, which take no names from a table, read star imports that are written with it. A distribution
that brings rooms of `treadle.tensor` has a table of its own, which its entry point ``treadle.names`` publishes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.paths import MARK

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("packages/tensor/src/treadle/tensor")
TABLE = "names.py"
# Each table of tensor itself, and the package whose names it has.
PACKAGES: Mapping[str, str] = {"LAZY": ""}
# The module with the table of each distribution that brings rooms, and for the modules below them, by how their names
# start, the package below `treadle.tensor` that has their names; the longest start counts.
BROUGHT: Mapping[Path, Mapping[str, str]] = {
    Path("packages/linalg/src/treadle/tensor/linalg/names.py"): {
        "linalg": "linalg",
        "linalg.norms": "",
    },
    Path("packages/neural/src/treadle/tensor/nn/names.py"): {"nn": "nn"},
    Path("packages/optimize/src/treadle/tensor/optimize/names.py"): {"optimize": "optimize"},
    Path("packages/random/src/treadle/tensor/random/names.py"): {
        "random": "random",
        "random.generators.compiled_samplers": "",
        "random.generators.generator_draws": "",
        "random.generators.lanes": "",
        "random.generators.portable_draws": "",
    },
    Path("packages/signal/src/treadle/tensor/signal/names.py"): {
        "fft": "",
        "fft.transforms": "fft",
        "signal": "",
        "signal.conv": "signal",
    },
}
# Rooms whose classes are ops, which are names of `treadle.tensor`.
ROOMS_OF_OPS = ("linalg",)
# Folders without public names, and modules whose names are public elsewhere: at paths in tools/paths.tsv.
PRIVATE = ("array_api", "rewrites", "lower_vm", "loops.scan.views", "loops.states")
PRIVATE_FOLDERS = ("lower", "records", "rules")
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


def _listed(source: Path) -> dict[str, tuple[str, ...]]:
    """Return the modules below a folder of `treadle.tensor` whose names need a table, with these names."""
    listed = {}
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        is_private = any(f"{module}.".startswith(f"{start}.") for start in PRIVATE) or any(
            folder in module.split(".") for folder in PRIVATE_FOLDERS
        )
        if path.name == "__init__.py" or is_private or MARK in path.read_text(encoding="utf-8"):
            continue
        folders = [folder for folder in (source, path.parent) if (folder / "__init__.py").exists()]
        names = exported(path)
        if names and not any(f"treadle.tensor.{module}" in gathered(folder) for folder in folders):
            listed[module] = names
    return listed


def tables(root: Path = ROOT) -> Mapping[str, Mapping[str, str]]:
    """Return for each table of tensor, for each module inside its package, its names, separated by spaces."""
    modules = {module: " ".join(names) for module, names in _listed(root / SOURCE).items() if "." in module}
    return {"LAZY": dict(sorted(modules.items()))}


def text(rows: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of the module of tables: `rows` are the `tables`."""
    parts = [TITLE]
    for table, modules in rows.items():
        whose = ".".join(filter(None, ("treadle.tensor", PACKAGES[table])))
        lines = [f'    "{module}": "{names}",' for module, names in modules.items()]
        parts.append("\n".join([f"# Of `{whose}`.", f"{table} = {{", *lines, "}", ""]))
    return "\n".join(parts)


def _file(source: Path, module: str) -> Path:
    return source / f"{module.replace('.', '/')}.py"


def _ops(path: Path) -> frozenset[str]:
    """Return the classes of a module that are no named tuples: its ops."""
    classes = (node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef))
    return frozenset(node.name for node in classes if "NamedTuple" not in map(ast.unparse, node.bases))


def rooms() -> list[str]:
    """Return the rooms that other distributions bring."""
    return sorted({start.partition(".")[0] for homes in BROUGHT.values() for start in homes})


def brought(table: Path, root: Path = ROOT) -> dict[str, dict[str, str]]:
    """Return what a distribution adds to `treadle.tensor` and to its own rooms: names, by package and module."""
    homes = BROUGHT[table]
    rooms = {start.partition(".")[0] for start in homes}
    rows: dict[str, dict[str, list[str]]] = {"": {room: [room] for room in rooms}}
    source = root / table.parents[1]
    for module, names in _listed(source).items():
        starts = [start for start in homes if f"{module}.".startswith(f"{start}.")]
        if starts:
            ops = _ops(_file(source, module)) if module.partition(".")[0] in ROOMS_OF_OPS else frozenset()
            for name in names:
                package = "" if name in ops else homes[max(starts, key=len)]
                rows.setdefault(package, {}).setdefault(module, []).append(name)
    return {
        package: {module: " ".join(names) for module, names in sorted(modules.items())}
        for package, modules in sorted(rows.items())
    }


def _dotted(*parts: str) -> str:
    return ".".join(filter(None, ("treadle.tensor", *parts)))


def brought_text(rows: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of the module that publishes the names of `brought`."""
    lines = []
    for package, modules in rows.items():
        inside = [f'        "{_dotted(module)}": "{names}",' for module, names in modules.items()]
        lines += [f'    "{_dotted(package)}": {{', *inside, "    },"]
    return "\n".join([TITLE, "NAMES = {", *lines, "}", ""])


def _in_imports(name: str) -> tuple[bool, bool, str]:
    """Return what ruff sorts names of imports by."""
    return not name.isupper(), not name[0].isupper(), name.lower()


def with_stars(path: Path, modules: Iterable[str]) -> str:
    """Return the text of a package's ``__init__`` with star imports of modules for type checkers.

    A module of which not all names are taken is written with those that are: ``module Name Name``.
    """
    before, _, after = path.read_text(encoding="utf-8").partition(f"{STARS}\n")
    rest = after.lstrip("\n").splitlines(keepends=True)
    while rest and rest[0].startswith("    from "):
        rest.pop(0)
    lines = []
    for module, *names in map(str.split, modules):
        lines += [f"    from {_dotted(module)} import {name} as {name}\n" for name in sorted(names, key=_in_imports)]
        lines += [] if names else [f"    from {_dotted(module)} import *  # noqa: F403\n"]
    return f"{before}{STARS}\n{''.join(lines)}{''.join(rest)}"


def texts(root: Path = ROOT) -> dict[Path, str]:
    """Return the files that are written, with their texts."""
    own = tables(root)
    source = root / SOURCE
    written = {source / TABLE: text(own)}
    stars = {
        source / package / "__init__.py": [".".join(filter(None, (package, module))) for module in own[table]]
        for table, package in PACKAGES.items()
    }
    for table in BROUGHT:
        rows = brought(table, root)
        written[root / table] = brought_text(rows)
        for package, modules in rows.items():
            folder = root / table.parents[1]
            inside = {module: names for module, names in modules.items() if "." in module}
            stars.setdefault((folder if package else source) / package / "__init__.py", []).extend(
                module if package or set(names.split()) == set(exported(_file(folder, module))) else f"{module} {names}"
                for module, names in inside.items()
            )
    return written | {path: with_stars(path, sorted(modules)) for path, modules in stars.items()}


def write(root: Path = ROOT) -> list[Path]:
    """Write the tables and the star imports of a checkout; return the files that changed."""
    changed = []
    for path, new in texts(root).items():
        if not path.exists() or path.read_text(encoding="utf-8") != new:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed
