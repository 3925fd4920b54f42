"""Splitting statements into functions of bounded size.

A function of one part takes the names that it reads and returns those that are read later. Where there are several
parts, names that more than one of them uses have words in the frame: a part loads what it reads and stores what is
read later. So a part costs what stands in it, however many names are alive around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from treadle.config import dataclass
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.unit import Unit, make_kernel
from treadle.link.numba.text.writer import GraphWriter

_ASSIGNED = re.compile(r"^\s*(?:for )?(\w+(?:, \w+)*) (?:=|in) ", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_STOP = re.compile(r"STOP\((\w+)\)")
_ALWAYS = ("table", "frame")


@dataclass(frozen=True, slots=True)
class _Text:
    """One part: its statements, the names that it assigns, and those that it reads from outside."""

    lines: Sequence[str]
    assigned: frozenset[str]
    read: tuple[str, ...]
    units: tuple[Unit, ...]


def called(writer: GraphWriter, texts: Sequence[Sequence[str]], names: Sequence[str]) -> list[str]:
    """Turn statements, cut into parts, into functions; return the statements that call them.

    Of the names, those that the statements assign are known afterwards.
    """
    if not any(texts):
        return []
    parts = [_text(writer, lines) for lines in texts]
    assigned = frozenset().union(*(part.assigned for part in parts))
    leaves = [name for name in dict.fromkeys(names) if name in assigned]
    if len(parts) > 1:
        return [*_in_frame(writer, parts, leaves), *map(writer.loaded, leaves)]
    unit, enters = _function(writer, parts[0], leaves)
    writer.units[unit.name] = unit
    status = writer.name("status")
    call = f"{', '.join([status, *leaves])} = {unit.name}({', '.join(enters)})"
    return [call, f"if {status} != 0:", f"    return STOP({status})"]


def whole(
    writer: GraphWriter, texts: Sequence[Sequence[str]], parameters: Sequence[str], returned: Sequence[str]
) -> Unit:
    """Return the function that runs all parts of the statements and takes all of `parameters`."""
    parts = [_text(writer, lines) for lines in texts]
    if len(parts) == 1:
        return _function(writer, parts[0], returned, parameters)[0]
    lines = [*_in_frame(writer, parts, returned), *map(writer.loaded, returned)]
    return _function(writer, _text(writer, lines), returned, parameters)[0]


def _text(writer: GraphWriter, lines: Sequence[str]) -> _Text:
    """Return a part with the names that it uses."""
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    assigned = frozenset(name for group in _ASSIGNED.findall(text) for name in group.split(", "))
    used = dict.fromkeys(_NAME.findall(text))
    known = writer.local_names | {name for names in writer.input_names for name in names}
    read = tuple(name for name in used if name not in assigned and name in known and name not in _ALWAYS)
    units = (*(u for n, u in writer.units.items() if n in used), *LIBRARY.used_by(text))
    return _Text(lines, assigned, read, units)


def _function(
    writer: GraphWriter, part: _Text, returned: Sequence[str], parameters: Sequence[str] | None = None
) -> tuple[Unit, list[str]]:
    """Return the function of a part, and its parameters: by default, the names that it reads."""
    codes = writer.codes
    names = [*_ALWAYS, *part.read] if parameters is None else list(parameters)
    kinds = [codes.get(n, "i8") for n in returned]
    stop = ", ".join([r"\1", *({"i8": "0", "b1": "False"}.get(code, f"{code}(0)") for code in kinds)])
    body = [_STOP.sub(stop, line) for line in part.lines]
    body.append(f"return {', '.join(['0', *returned])}")
    return make_kernel("part", [(n, codes.get(n, "i8")) for n in names], body, part.units), names


def _in_frame(writer: GraphWriter, parts: Sequence[_Text], leaves: Iterable[str]) -> list[str]:
    """Return the statements that store what parts read, and call one after another; `leaves` are stored by them."""
    needed = set(leaves)
    calls: list[list[str]] = []
    for part in reversed(parts):
        later = [name for name in dict.fromkeys(_names(part)) if name in part.assigned and name in needed]
        lines = [*map(writer.loaded, part.read), *part.lines, *map(writer.stored, later)]
        unit, _ = _function(writer, _Text(lines, part.assigned, (), part.units), ())
        writer.units[unit.name] = unit
        needed = needed.difference(part.assigned).union(part.read)
        status = writer.name("status")
        calls.append(
            [f"{status} = {unit.name}({', '.join(_ALWAYS)})", f"if {status} != 0:", f"    return STOP({status})"]
        )
    return [*map(writer.stored, sorted(needed)), *(line for call in reversed(calls) for line in call)]


def _names(part: _Text) -> list[str]:
    """Return the names that a part assigns, in the order of its text."""
    return [name for group in _ASSIGNED.findall("\n".join(part.lines)) for name in group.split(", ")]
