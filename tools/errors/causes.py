"""Read the table of causes, and run its programs.

``causes.txt`` has a section ``[Name]`` for each class of errors or warnings. A cause begins with ``#``, or with ``*#``
if it is one of the commonest mistakes. A program that raises the error follows, then ``---`` and the mended program. A
line that begins with ``.`` says in words what no short program shows.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("causes.txt")
PRELUDE = "import numpy as np\nimport treadle.tensor as tt\nfrom treadle.compile import function\n"
# Programs run as if they were typed, so that messages name the line as they would there.
FILE = "<stdin>"


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of an error: what it is, a program that raises the error, and the mended program."""

    text: str
    is_common: bool
    wrong: str
    mended: str


@dataclass(slots=True)
class Section:
    """What the table says of one class."""

    words: list[str] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)


def sections() -> dict[str, Section]:
    """Return the table by the name of the class."""
    found: dict[str, Section] = {}
    for block in re.split(r"^\[(?=\w+\]$)", TABLE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, _, body = block.partition("]\n")
        section = found[name] = Section()
        for part in re.split(r"^(?=\*?# |\. )", body, flags=re.MULTILINE):
            title, _, programs = part.partition("\n")
            if title.startswith(". "):
                section.words.append(title[2:])
            elif title:
                wrong, _, mended = programs.partition("\n---\n")
                common = title.startswith("*")
                section.causes.append(Cause(title.lstrip("*# "), common, wrong.strip("\n"), mended.strip("\n")))
    return found


@dataclass(frozen=True, slots=True)
class Session:
    """What a program shows at the prompt, and the error that ended it."""

    lines: tuple[str, ...]
    error: BaseException | None


def _statements(program: str) -> list[str]:
    """Return the statements of a program with their lines, as one types them."""
    lines = program.splitlines()
    return ["\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in _first_of_lines(ast.parse(program).body)]


def _first_of_lines(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without those that stand in the line of the one before."""
    return [node for i, node in enumerate(nodes) if i == 0 or node.lineno > (nodes[i - 1].end_lineno or 0)]


def run(program: str, names: dict[str, Any]) -> Session:
    """Run a program as if it were typed; it ends at the first error."""
    lines: list[str] = []
    for statement in _statements(program):
        first, *rest = statement.splitlines()
        lines += [f">>> {first}", *(f"... {line}" if line else "..." for line in rest)]
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(compile(f"{statement}\n", FILE, "single"), names)
        except Exception as error:  # noqa: BLE001 - the subject of the page
            kind = type(error)
            message = "".join(f"\n{line}" if i else line for i, line in enumerate(str(error).splitlines()))
            text = f"{kind.__module__}.{kind.__qualname__}: {message}"
            return Session((*lines, "Traceback (most recent call last):", "  ...", *text.splitlines()), error)
        lines += printed.getvalue().splitlines()
    return Session(tuple(lines), None)


def fresh_names() -> dict[str, Any]:
    """Return the names that programs start with."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(PRELUDE, names)
    return names


def module_of(kind: type[BaseException]) -> str:
    """Return where users import a class from: the shortest public path that has it."""
    parts = kind.__module__.split(".")
    for end in range(2, len(parts) + 1):
        path = ".".join(parts[:end])
        module = sys.modules.get(path)
        if module is not None and getattr(module, kind.__name__, None) is kind:
            return path
    return kind.__module__
