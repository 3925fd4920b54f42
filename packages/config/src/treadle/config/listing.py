"""The text of ``print(config)``."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from treadle.config.lazy import lazy_module
from treadle.config.option import Option

if TYPE_CHECKING:
    import textwrap
else:
    textwrap = lazy_module("textwrap")


def render(rows: Iterable[tuple[Option[object], object, str, str]]) -> str:
    """Return the listing of options from (option, its value, where that came from, the text of its default)."""
    return "\n".join(_entry(*row) for row in rows)


def _entry(option: Option[object], value: object, source: str, default: str) -> str:
    notes = [
        option.kind.allowed,
        f"owner {option.owner or 'this process'}",
        *(["read-only after first use" + ", except in change_flags" * option.scoped] if option.read_only else []),
        *([] if option.affects_code else ["not in cache keys"]),
    ]
    doc = textwrap.fill(" ".join(option.doc.split()), 96, initial_indent="    ", subsequent_indent="    ")
    lines = [
        f"{option.name} = {shown(value)}  (from {source}; default {default})",
        f"    [{'; '.join(notes)}]",
        *([doc] if doc else []),
    ]
    if option.no_effect:
        lines.append(f"    No effect: {option.no_effect}")
    return "\n".join(lines)


def shown(value: object) -> str:
    """Return a value as it would be written in a program: a path as its text."""
    return repr(os.fspath(value)) if isinstance(value, os.PathLike) else repr(value)
