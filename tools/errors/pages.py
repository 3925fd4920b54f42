"""Write a page for each class of errors and warnings, and the page of the commonest mistakes."""

from __future__ import annotations

import csv
import inspect
from functools import cache
from importlib import import_module
from pathlib import Path

from tools.errors.causes import PRELUDE, Cause, Section, Session, fresh_names, module_of, run, sections
from treadle.config import config

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("docs/errors")
# What `treadle explain` prints.
SHIPPED = Path("packages/compile/src/treadle/compile/explanations")
_PUBLIC = ROOT / "tests" / "repo" / "public_names.tsv"
# Packages that are not on that list.
_FURTHER = ("treadle.named", "treadle.link.torch")


@cache
def classes() -> dict[str, tuple[type[BaseException], ...]]:
    """Return the public classes of errors and warnings by name; two packages may have one of the same name."""
    with _PUBLIC.open(encoding="utf-8", newline="") as file:
        paths = [row["path"] for row in csv.DictReader(file, delimiter="\t")]
    found: dict[str, dict[type[BaseException], None]] = {}
    for path in (*paths, *_FURTHER):
        module = import_module(path)
        for name in dir(module):
            if name.endswith(("Error", "Warning", "Unsupported", "AlreadyThere")):
                value = getattr(module, name)
                if (
                    inspect.isclass(value)
                    and issubclass(value, BaseException)
                    and value.__module__.startswith("treadle.")
                ):
                    found.setdefault(value.__name__, {})[value] = None
    return {name: tuple(sorted(kinds, key=module_of)) for name, kinds in sorted(found.items())}


class WrongPageError(Exception):
    """A program of the table does not do what it is there for."""


def _shown(cause: Cause, name: str) -> tuple[Session, Session]:
    """Run both programs of a cause; the first must raise the error, the second must not."""
    with config.change_flags(mode="VM"):
        names = fresh_names()
        wrong = run(cause.wrong, names)
        mended = run(cause.mended, names)
    raised = wrong.error
    if raised is None or name not in {kind.__name__ for kind in type(raised).__mro__}:
        msg = f"{name}: {cause.text!r} raises {type(raised).__name__}: {raised}"
        raise WrongPageError(msg)
    if mended.error is not None:
        msg = f"{name}: {cause.text!r}, mended, raises {type(mended.error).__name__}: {mended.error}"
        raise WrongPageError(msg)
    return wrong, mended


def _heading(cause: Cause) -> str:
    return cause.text.removesuffix(".")


def _session(session: Session) -> list[str]:
    return ["```pycon", *session.lines, "", "```", ""]  # without the empty line, doctest takes the fence for output


def _about(kind: type[BaseException]) -> list[str]:
    """Return what the class itself says: its docstring, where it is, and what else catches it."""
    text = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    own = [base.__name__ for base in kind.__mro__[1:] if base.__module__.startswith("treadle.")]
    others = [base.__name__ for base in kind.__mro__[1:] if not base.__module__.startswith("treadle.")]
    builtin = [name for name in others if name not in {"object", "BaseException", "Exception"}]
    bases = ", ".join(f"`{name}`" for name in dict.fromkeys([*own, *builtin]))
    place = f"From `{module_of(kind)}`."
    return [text, "", f"{place} It is also caught as {bases}." if bases else place, ""]


def _page(name: str, section: Section) -> str:
    lines = [f"# {name}", ""]
    for kind in classes()[name]:
        lines += _about(kind)
    for words in section.words:
        lines += [words, ""]
    for number, cause in enumerate(section.causes):
        wrong, mended = _shown(cause, name)
        prelude = [f">>> {line}" for line in PRELUDE.splitlines()] if number == 0 else []
        lines += [f"## {_heading(cause)}", "", *_session(Session((*prelude, *wrong.lines), None)), "Mended:", ""]
        lines += _session(mended)
    return "\n".join(lines)


def _index(table: dict[str, Section]) -> str:
    common = [(name, cause) for name, section in table.items() for cause in section.causes if cause.is_common]
    lines = [
        "# The commonest mistakes, message by message",
        "",
        (
            "Written by `./dev pages`. The last line of your program in a traceback is where the mistake is; "
            "`treadle explain NAME` prints the page of an error. Below are "
            f"{len(common)} mistakes; at the end all pages."
        ),
        "",
    ]
    prelude = [f">>> {line}" for line in PRELUDE.splitlines()]
    for name, cause in common:
        wrong, mended = _shown(cause, name)
        lines += [f"## {_heading(cause)}", "", *_session(Session((*prelude, *wrong.lines), None))]
        lines += [f"Mended ([{name}]({name}.md)):", "", *_session(mended)]
        prelude = []
    lines += ["## All errors and warnings", ""]
    for name, kinds in classes().items():
        text = inspect.cleandoc(kinds[0].__doc__ or "").split("\n\n")[0].replace("\n", " ")
        lines.append(f"- [{name}]({name}.md): {text}")
    return "\n".join([*lines, ""])


def texts() -> dict[Path, str]:
    """Return the files that are written, with their texts."""
    table = sections()
    absent = sorted(set(classes()) - set(table))
    unknown = sorted(set(table) - set(classes()))
    if absent or unknown:
        msg = f"tools/errors/causes.txt lacks {absent}, and has {unknown}, which are no public errors"
        raise WrongPageError(msg)
    pages = {name: _page(name, section) for name, section in table.items()}
    written = {FOLDER / f"{name}.md": page for name, page in pages.items()}
    written |= {SHIPPED / f"{name}.md": page for name, page in pages.items()}
    written[FOLDER / "index.md"] = _index(table)
    return written


def write(root: Path = ROOT) -> None:
    """Write the pages."""
    for path, text in texts().items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
