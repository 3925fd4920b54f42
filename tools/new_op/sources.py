"""How skeletons are put into the sources: imports, exports, and the order that ruff gives them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from keyword import iskeyword
from pathlib import Path

from tools.names import BROUGHT, PRIVATE_FOLDERS

# Names by module.
Imports = dict[str, tuple[str, ...]]

ROOT = Path(__file__).resolve().parents[2]
TENSOR = Path("packages/tensor/src/treadle/tensor")
# Every folder that has rooms of treadle.tensor.
FOLDERS = (TENSOR, *(table.parents[1] for table in BROUGHT))


def known_names(text: str) -> set[str]:
    """Return the names that a module imports or defines."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
    return names


def with_imports(text: str, imports: Imports, types: Imports) -> str:
    """Return a module's text with what it does not import yet; ruff brings the lines into order."""
    known = known_names(text)

    def lines(wanted: Imports, indent: str) -> str:
        missing = [(m, n) for m, names in wanted.items() for n in names if n.rpartition(" ")[2] not in known]
        return "".join(f"{indent}{f'from {module} ' if module else ''}import {name}\n" for module, name in missing)

    more = lines(types, "    ")
    if more:
        imports = {**imports, "typing": ("TYPE_CHECKING", *imports.get("typing", ()))}
    first = "from __future__ import annotations\n"
    text = text.replace(first, f"{first}\n{lines(imports, '')}", 1)
    if more and "\nif TYPE_CHECKING:\n" in text:
        return text.replace("\nif TYPE_CHECKING:\n", f"\nif TYPE_CHECKING:\n{more}", 1)
    if more:
        last = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)][-1].end_lineno
        rows = text.splitlines(keepends=True)
        text = "".join([*rows[:last], f"\nif TYPE_CHECKING:\n{more}", *rows[last:]])
    return text


def with_exports(text: str, names: list[str]) -> str:
    """Return a module's text with names in its `__all__`; ruff brings them into order."""
    quoted = "".join(f'"{name}", ' for name in names)
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            lines = text.splitlines(keepends=True)
            line, column = node.value.lineno - 1, node.value.col_offset + 1
            rest = lines[line][column:]
            # In a list of several names to a line, which is not formatted, the new names get a line to themselves.
            start = f"\n    {quoted.rstrip()}" if rest == "\n" else quoted
            lines[line] = f"{lines[line][:column]}{start}{rest}"
            return "".join(lines)
    first = next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Assign))
    above = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))]) - 1
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:above], f"__all__ = [{quoted}]\n\n\n", *lines[above:]])


def tidy(root: Path, changed: list[Path]) -> list[Path]:
    """Bring imports and exports of changed files into order, and their lines into form; return the files."""
    ruff = (sys.executable, "-m", "ruff")
    subprocess.run([*ruff, "check", "--quiet", "--select", "I,RUF022", "--fix", *changed], cwd=root, check=True)
    subprocess.run([*ruff, "format", "--quiet", *changed], cwd=root, check=True)
    return changed


def class_name(name: str) -> str:
    """Return the name of the class for a function: CumulativeSum of cumulative_sum."""
    return "".join(part.capitalize() for part in name.split("_"))


def bad_name(*names: str) -> str:
    """Return why a name does not fit, or nothing."""
    for name in names:
        if not re.fullmatch("[a-z][a-z0-9_]*", name) or iskeyword(name):
            return f"{name!r} is no name in lower case. Take one such as cumulative_sum."
    return ""


def home_of(root: Path, name: str) -> Path | None:
    """Return the module of treadle.tensor that defines a name; None if none does."""
    pattern = re.compile(
        rf"^({re.escape(name)}(:.*)? = |def {re.escape(name)}\(|class {re.escape(name)}\b)", re.MULTILINE
    )
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py")) if not is_private(path)]
    return next((path for path in paths if pattern.search(path.read_text(encoding="utf-8"))), None)


def is_private(path: Path) -> bool:
    """Whether a module is what backends or checks have of a room, or one of its rules."""
    return not set(PRIVATE_FOLDERS).isdisjoint(path.parts[path.parts.index("src") :])


def module_name(root: Path, path: Path) -> str:
    """Return the name by which a module of treadle.tensor is imported."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[parts.index("src") + 1 :])
