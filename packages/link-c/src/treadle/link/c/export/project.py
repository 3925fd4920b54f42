"""Writing an export: two C files, a header, a description in JSON, and the shared library."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from treadle.config import config
from treadle.graph import FunctionGraph, LoweringError, Variable
from treadle.link.c.checking import check
from treadle.link.c.errors import BackendUnavailableError, ExportError
from treadle.link.c.export.declarations import ABI_VERSION, declarations, header
from treadle.link.c.export.entry import ExportAssembly, initial_values
from treadle.link.c.runtime import Library
from treadle.link.c.table import TABLE
from treadle.link.c.text.simd import simd_functions
from treadle.link.c.text.unit import Unit, write_unit
from treadle.link.c.toolchain import Toolchain, find_toolchain
from treadle.link.vm import ExportRequest
from treadle.tensor import TensorVariable, shape_i, tensors


def export_graph(fgraph: FunctionGraph, request: ExportRequest, directory: Path) -> Path:
    """Write a graph, rewritten for C and expanded, as a C library of its own; return the JSON file that describes it.

    The directory is created if it is missing. All nodes that need functions of SciPy or another Python module are
    refused together (`ExportError`), and all that have no C rule (`LoweringError`).
    """
    toolchain = find_toolchain(threads=False)
    if isinstance(toolchain, str):
        msg = f"export: {toolchain}."
        raise BackendUnavailableError(msg)
    # The library has to stand for itself, in programs that need not have what this process has.
    toolchain = toolchain.complete()
    TABLE.lower(fgraph.toposort(), check)
    name = request.name
    run = write_unit(fgraph)
    _refuse_pointers(run)
    lengths = _lengths_unit(fgraph, request)
    ranks = [(var.type.ndim, var.type.dtype) for var in tensors(fgraph.outputs)]
    library = Library(simd_functions(toolchain), portable=True)
    sources = {
        f"{name}.c": _text(ExportAssembly(run, name), library, name),
        f"{name}_shape.c": _text(ExportAssembly(lengths, name, ranks), library, name),
    }
    sources[f"{name}.c"] += initial_values(name, [i.value for i in request.inputs])
    blas = sorted(run.routines | lengths.routines)
    directory.mkdir(parents=True, exist_ok=True)
    count = (len(fgraph.inputs), len(fgraph.outputs))
    (directory / f"{name}.h").write_text(header(name, *count, blas, run.own_blas), encoding="utf-8")
    for file, text in sources.items():
        (directory / file).write_text(text, encoding="utf-8")
    chosen = toolchain.extended(run.requirements.flags, run.requirements.libraries)
    target = directory / f"lib{name}{'.dylib' if sys.platform == 'darwin' else '.so'}"
    command = _compile(chosen, [directory / file for file in sources], target)
    described = _description(fgraph, request, blas, run.own_blas, [*sources, f"{name}.h", target.name], command)
    place = directory / f"{name}.json"
    place.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return place


def _lengths_unit(fgraph: FunctionGraph, request: ExportRequest) -> Unit:
    """Write the unit that computes the outputs' lengths, rewritten separately so that it computes nothing else.

    If that needs nodes without a C rule, it computes the outputs and returns their lengths.
    """
    if request.lengths is not None:
        lengths = request.lengths(_all_lengths)
        with suppress(LoweringError):
            TABLE.lower(lengths.toposort(), check)
            return write_unit(lengths)
    plain = fgraph.clone()
    return write_unit(FunctionGraph(plain.inputs, _all_lengths(plain.outputs), clone=True))


def _all_lengths(outputs: Sequence[Variable]) -> list[Variable]:
    return [shape_i(out, d) for out in tensors(outputs) for d in range(out.type.ndim)]


def _refuse_pointers(unit: Unit) -> None:
    """Refuse nodes that call functions which only a Python process has."""
    users = unit.requirements.pointer_nodes
    if users:
        lines = [
            f"  {node.op}{node.where()}: {', '.join(f'{p.module}.{p.name}' for p in pointers)}"
            for number, pointers in users.items()
            if (node := unit.nodes[number]) is not None
        ]
        msg = (
            "export: some nodes call C functions of Python modules, which a program without Python does not have:\n"
            + "\n".join(lines)
            + "\nCompute them outside of the exported function."
        )
        raise ExportError(msg)


def _text(assembly: ExportAssembly, library: Library, name: str) -> str:
    # aligned_alloc is part of C11: with an older standard, headers declare it only if asked to; and if they are asked
    # for anything, they declare functions beyond the standard, such as lgamma_r, only if asked for these too.
    return f'#define _DEFAULT_SOURCE 1\n#define _ISOC11_SOURCE 1\n#include "{name}.h"\n' + assembly.text(
        library
    ).replace("int64_t treadle_init(const uintptr_t *P) {", "static int64_t treadle_init(const uintptr_t *P) {")


def _compile(toolchain: Toolchain, sources: Sequence[Path], target: Path) -> list[str]:
    """Compile the files into one library; return the command, with file names without their directories."""
    first, *more = sources
    toolchain.compile(first, target, *more)
    names = {str(path): path.name for path in (*sources, target)}
    return [names.get(part, part) for part in toolchain.command(first, target, *more)]


def _description(
    fgraph: FunctionGraph, request: ExportRequest, blas: list[str], linked: bool, files: list[str], command: list[str]
) -> dict[str, object]:
    def array(var: TensorVariable) -> dict[str, object]:
        return {"dtype": var.type.dtype, "ndim": var.type.ndim, "shape": list(var.type.shape)}

    inputs = [
        {"name": item.name, "role": item.role, **array(var), "has_initial_value": item.value is not None}
        for item, var in zip(request.inputs, tensors(fgraph.inputs), strict=True)
    ]
    outputs = [
        {
            "name": item.name,
            "role": "output" if item.updates is None else "update",
            **array(var),
            "updates": item.updates,
        }
        for item, var in zip(request.outputs, tensors(fgraph.outputs), strict=True)
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
