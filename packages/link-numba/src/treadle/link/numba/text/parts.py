"""Splitting statements into functions, which take the names that they read and return those that are read later."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.unit import Unit, make_kernel
from treadle.link.numba.text.writer import GraphWriter

_ASSIGNED = re.compile(r"^\s*(?:for )?(\w+(?:, \w+)*) (?:=|in) ", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_STOP = re.compile(r"STOP\((\w+)\)")


def _zero(code: str) -> str:
    return {"i8": "0", "b1": "False"}.get(code, f"{code}(0)")


def _assigned_in(text: str) -> set[str]:
    return {name for group in _ASSIGNED.findall(text) for name in group.split(", ")}


# A function, the names it takes and those it returns.
_Part = tuple[Unit, list[str], list[str]]


def called(writer: GraphWriter, texts: Sequence[Sequence[str]], names: Sequence[str]) -> list[str]:
    """Turn statements, cut into parts, into a function; return the statements that call it.

    The function returns those of the names `wanted` that the statements assign.
    """
    if not any(texts):
        return []
    assigned = _assigned_in("\n".join(line for lines in texts for line in lines))
    leaves = [name for name in dict.fromkeys(names) if name in assigned]
    parts = _parts(writer, texts, leaves)
    unit, enters = parts[0][:2] if len(parts) == 1 else _joined(writer, parts, None, leaves)
    writer.units[unit.name] = unit
    status = writer.name("status")
    call = f"{', '.join([status, *leaves])} = {unit.name}({', '.join(enters)})"
    return [call, f"if {status} != 0:", f"    return STOP({status})"]


def whole(
    writer: GraphWriter, texts: Sequence[Sequence[str]], parameters: Sequence[str], returned: Sequence[str]
) -> Unit:
    """Return the function that runs all parts of the statements and takes all of `parameters`."""
    return _joined(writer, _parts(writer, texts, returned), parameters, returned)[0]


def _parts(writer: GraphWriter, texts: Sequence[Sequence[str]], returned: Sequence[str]) -> list[_Part]:
    """Return one function for each part of the statements."""
    inputs = {name for names in writer.input_names for name in names}
    codes = writer.codes
    parts: list[_Part] = []
    needed = list(returned)
    for lines in reversed(texts):
        text = "\n".join(lines)
        assigned = _assigned_in(text)
        leaves = [name for name in dict.fromkeys(needed) if name in assigned]
        used = dict.fromkeys(_NAME.findall("\n".join(line for line in lines if not line.lstrip().startswith("#"))))
        known = [name for name in used if name not in assigned and (name in inputs or name in writer.local_names)]
        enters = ["table", "frame", *(n for n in known if n not in {"table", "frame"})]
        stop = ", ".join([r"\1", *(_zero(codes.get(n, "i8")) for n in leaves)])
        body = [_STOP.sub(stop, line) for line in lines]
        body.append(f"return {', '.join(['0', *leaves])}" if leaves else "return 0")
        params = [(name, codes.get(name, "i8")) for name in enters]
        uses = (*(u for n, u in writer.units.items() if n in used), *LIBRARY.used_by(text))
        parts.append((make_kernel("part", params, body, uses), enters, leaves))
        needed = [*(n for n in needed if n not in assigned), *enters]
    parts.reverse()
    return parts


def _joined(
    writer: GraphWriter, parts: Sequence[_Part], parameters: Sequence[str] | None, returned: Sequence[str]
) -> tuple[Unit, list[str]]:
    """Return the function that calls parts in order, and its parameters: by default, the names that the parts need."""
    codes = writer.codes
    lines = []
    assigned: set[str] = set()
    needed: dict[str, None] = {}
    for unit, enters, leaves in parts:
        needed.update((name, None) for name in enters if name not in assigned)
        assigned.update(leaves)
        targets = ", ".join(["status", *leaves])
        stop = ["status", *(_zero(codes.get(n, "i8")) for n in returned)]
        lines += [f"{targets} = {unit.name}({', '.join(enters)})", "if status != 0:", f"    return {', '.join(stop)}"]
    lines.append(f"return {', '.join(['0', *returned])}")
    names = list(needed) if parameters is None else list(parameters)
    return make_kernel("graph", [(n, codes.get(n, "i8")) for n in names], lines, [unit for unit, _, _ in parts]), names
