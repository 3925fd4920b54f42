"""The text of ``print(config)``."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from treadle.config.lazy import lazy_module
from treadle.config.option import Option

if TYPE_CHECKING:
    import textwrap
else:
    textwrap = lazy_module("textwrap")


def render(rows: Iterable[tuple[Option[Any], Any, str, str]]) -> str:
    """Return the listing of options.

    Parameters
    ----------
    rows
        (option, its value, where the value came from, the text of its default) in listing order.
    """
    return "\n".join(_entry(*row) for row in rows)


def _entry(option: Option[Any], value: Any, source: str, default: str) -> str:
    notes = [
        option.kind.allowed,
        f"owner {option.owner or 'this process'}",
        *([_fixed(option)] if option.read_only else []),
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


def _fixed(option: Option[Any]) -> str:
    return "read-only after first use" + (", except in change_flags" if option.scoped else "")
