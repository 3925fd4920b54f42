"""Exporting a function: its graph, and a description of its inputs and outputs, go to its linker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.compile.errors import FunctionValueError
from treadle.config import config, text_of
from treadle.graph import FunctionGraph
from treadle.link.vm import ExportedInput, ExportedOutput, ExportRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.compile.functions.function import Function
    from treadle.compile.functions.maker import FunctionMaker
    from treadle.graph import Variable

_LONGEST_NAME = 200  # with their endings, files have names of at most 255 letters


def export_function(function: Function, directory: str | Path, name: str | None) -> Path:
    """Write a function as a library for programs without Python; see `Function.export`."""
    maker = function.maker
    chosen = name if name is not None else function.name or "treadle_function"
    if not (chosen.isascii() and chosen.isidentifier() and len(chosen) <= _LONGEST_NAME):
        msg = (
            f"export: {text_of(chosen)} cannot be the prefix of files and of C functions. Pass name=, of letters, "
            f"digits and _, {_LONGEST_NAME} of them at most."
        )
        raise FunctionValueError(msg)
    with config.using(maker.options):
        return maker.mode.make_linker().export(maker.fgraph, _request(maker, chosen), Path(directory))


def _request(maker: FunctionMaker, name: str) -> ExportRequest:
    spec = maker.specification
    input_names = [i.name or str(i.variable) for i in spec.inputs]
    names = _unique([*input_names, *(s.name or "state" for s in spec.shared)])
    roles = [*("input" if i.container is None else "default" for i in spec.inputs), *("state" for _ in spec.shared)]
    cells = spec.cells()
    values = [None if cell is None else cell.read_host() for cell in cells]
    places = {cell: at for at, cell in enumerate(cells) if cell is not None}
    inputs = [ExportedInput(n, role, value) for n, role, value in zip(names, roles, values, strict=True)]
    output_names: list[object] = (
        list(spec.keys) if spec.keys is not None else [o.variable.name or "output" for o in spec.outputs]
    )
    updated = [names[places[cell]] if cell in places else "" for cell, _ in spec.updates]
    labels = _unique([*output_names, *(f"new_{n}" for n in updated)])
    update_targets: list[str | None] = [*(None for _ in output_names), *updated]
    outputs = [ExportedOutput(n, target) for n, target in zip(labels, update_targets, strict=True)]

    def lengths(make: Callable[[Sequence[Variable]], Sequence[Variable]]) -> FunctionGraph:
        graph = spec.graph()
        lengths_graph = FunctionGraph(graph.inputs, make(graph.outputs), clone=True)
        maker.mode.optimizer.rewrite(lengths_graph)
        return lengths_graph

    return ExportRequest(name, tuple(inputs), tuple(outputs), lengths)


def _unique(names: Iterable[object]) -> list[str]:
    """Return names as identifiers, made different by numbers."""
    unique: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"\W", "_", str(name), flags=re.ASCII) or "_"
        candidate, number = plain, 1
        while candidate in unique:
            number += 1
            candidate = f"{plain}_{number}"
        unique[candidate] = None
    return list(unique)
