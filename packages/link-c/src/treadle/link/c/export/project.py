"""Writing an export: two C files, a header, a description in JSON, and the shared library."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.config import config
from treadle.graph import Constant, FunctionGraph, LoweringError
from treadle.link.c.errors import BackendUnavailableError, ExportError
from treadle.link.c.export.declarations import ABI_VERSION, declarations, header
from treadle.link.c.export.entry import ExportUnit, initial_values
from treadle.link.c.layout import Layout
from treadle.link.c.runtime import Library
from treadle.link.c.simd import simd_functions
from treadle.link.c.table import TABLE
from treadle.link.c.toolchain import find_toolchain
from treadle.link.c.unit import dtype, ndim
from treadle.link.c.writing import check, write_unit
from treadle.tensor import shape_i

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Variable
    from treadle.link.c.toolchain import Toolchain
    from treadle.link.vm import ExportRequest


def export_graph(fgraph: FunctionGraph, request: ExportRequest, directory: Path) -> Path:
    """Write a rewritten graph as a C library of its own.

    Parameters
    ----------
    fgraph
        The graph, rewritten for C and expanded.
    request
        Names and roles of its inputs and outputs.
    directory
        Where to write; it is made if it is missing.

    Returns
    -------
    The JSON file that describes what was written.

    Raises
    ------
    ExportError
        If the graph needs functions of SciPy or another Python module; all such nodes are listed.
    LoweringError
        If C has no rule for some nodes, which would be steps of Python; all are listed.
    BackendUnavailableError
        If there is no compiler.
    CompileError
        If the compiler fails.
    """
    toolchain = find_toolchain(threads=False)
    if isinstance(toolchain, str):
        msg = f"export: {toolchain}."
        raise BackendUnavailableError(msg)
    order = Layout(fgraph).order
    TABLE.lower(order, check)
    name = request.name
    library = Library(simd_functions(toolchain), portable=True)
    run = _unit(fgraph, order, name)
    _refuse_pointers(run, order)
    lengths = _lengths_unit(fgraph, request, name)
    sources = {f"{name}.c": _text(*run, library, name), f"{name}_shape.c": _text(*lengths, library, name)}
    sources[f"{name}.c"] += initial_values(name, [i.value for i in request.inputs])
    unit = run[0]
    blas = sorted({*unit.needs, *lengths[0].needs}) if not unit.own_blas else _linked(sources)
    directory.mkdir(parents=True, exist_ok=True)
    count = (len(fgraph.inputs), len(fgraph.outputs))
    (directory / f"{name}.h").write_text(header(name, *count, blas, unit.own_blas), encoding="utf-8")
    for file, text in sources.items():
        (directory / file).write_text(text, encoding="utf-8")
    chosen = toolchain.extended(unit.requirements.flags, unit.requirements.libraries)
    target = directory / f"lib{name}{'.dylib' if sys.platform == 'darwin' else '.so'}"
    command = _compile(chosen, [directory / file for file in sources], target)
    described = _description(fgraph, request, blas, unit.own_blas, [*sources, f"{name}.h", target.name], command)
    place = directory / f"{name}.json"
    place.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return place


Written = tuple[ExportUnit, list[tuple["Variable", int]]]


def _unit(
    fgraph: FunctionGraph, order: Sequence[Apply], name: str, ranks: Sequence[tuple[int, str]] | None = None
) -> Written:
    unit, outputs = write_unit(fgraph, order, kind=ExportUnit)
    unit.name, unit.nodes, unit.ranks = name, order, ranks
    for var in unit.constants:
        if not isinstance(var, Constant):
            msg = f"export: {var} is neither an input nor a constant of the graph. Make it an input."
            raise ExportError(msg)
    return unit, outputs


def _lengths_unit(fgraph: FunctionGraph, request: ExportRequest, name: str) -> Written:
    """Write the unit that computes the outputs' lengths: rewritten on its own, to compute no more than it must.

    Where that needs what C has no rule for, lengths are read off the outputs.
    """
    ranks = [(ndim(out), dtype(out)) for out in fgraph.outputs]
    if request.lengths is not None:
        made = request.lengths(_all_lengths)
        order = Layout(made).order
        with suppress(LoweringError):
            TABLE.lower(order, check)
            return _unit(made, order, name, ranks)
    plain = fgraph.clone()
    outs = _all_lengths(plain.outputs)
    made = FunctionGraph(plain.inputs, outs, clone=True)
    return _unit(made, Layout(made).order, name, ranks)


def _all_lengths(outputs: Sequence[Variable]) -> list[Variable]:
    return [shape_i(out, d) for out in outputs for d in range(ndim(out))]


def _refuse_pointers(written: Written, order: Sequence[Apply]) -> None:
    """Refuse functions that only a Python process has.

    Raises
    ------
    ExportError
        If there are any.
    """
    unit, _ = written
    users = unit.requirements.pointer_nodes
    if users:
        lines = [
            f"  {order[node].op}{order[node].where()}: {', '.join(f'{p.module}.{p.name}' for p in pointers)}"
            for node, pointers in users.items()
        ]
        msg = (
            "export: some nodes call C functions of Python modules, which a program without Python does not have:\n"
            + "\n".join(lines)
            + "\nCompute them outside of the exported function."
        )
        raise ExportError(msg)


def _text(unit: ExportUnit, outputs: list[tuple[Variable, int]], library: Library, name: str) -> str:
    # Of the standard of 2011 is aligned_alloc, which headers show to a compiler of an older one only if asked.
    return f'#define _ISOC11_SOURCE 1\n#include "{name}.h"\n' + unit.text(outputs, library).replace(
        "int64_t treadle_init(const uintptr_t *P) {", "static int64_t treadle_init(const uintptr_t *P) {"
    )


def _linked(sources: dict[str, str]) -> list[str]:
    names = ("dgemm", "dgemv", "sgemm", "sgemv")
    return [name for name in names if any(f"{name}_" in text for text in sources.values())]


def _compile(toolchain: Toolchain, sources: Sequence[Path], target: Path) -> list[str]:
    """Compile the files into one library; return the command, with names of files alone."""
    first, *more = sources
    toolchain.compile(first, target, *more)
    names = {str(path): path.name for path in (*sources, target)}
    return [names.get(part, part) for part in toolchain.command(first, target, *more)]


def _description(
    fgraph: FunctionGraph, request: ExportRequest, blas: list[str], linked: bool, files: list[str], command: list[str]
) -> dict[str, Any]:
    def array(var: Variable) -> dict[str, Any]:
        kind: Any = var.type
        return {"dtype": kind.dtype, "ndim": kind.ndim, "shape": list(kind.shape)}

    inputs = [
        {"name": item.name, "role": item.role, **array(var), "has_initial_value": item.value is not None}
        for item, var in zip(request.inputs, fgraph.inputs, strict=True)
    ]
    outputs = [
        {
            "name": item.name,
            "role": "output" if item.updates is None else "update",
            **array(var),
            "updates": item.updates,
        }
        for item, var in zip(request.outputs, fgraph.outputs, strict=True)
    ]
    return {
        "format": "treadle export",
        "abi_version": ABI_VERSION,
        "name": request.name,
        "inputs": inputs,
        "outputs": outputs,
        "blas": {"routines": blas, "passed_by": "linker" if linked else "host"},
        "library": files[-1],
        "files": files,
        "command": shlex.join(command),
        "flags_of_the_user": str(config.gcc__cxxflags),
        "declarations": declarations(request.name),
    }
