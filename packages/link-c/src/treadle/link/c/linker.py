"""Linking a graph: refusals, C text, compiler, program."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import config
from treadle.graph import Apply, Constant, missing_lowerings
from treadle.link.c.abi import BRIDGE, object_layout
from treadle.link.c.blas import blas_pointers
from treadle.link.c.dtypes import CTYPES
from treadle.link.c.errors import BackendUnavailableError
from treadle.link.c.expression import unsupported
from treadle.link.c.lower import (
    broadcasting,
    dimshuffle,
    elemwise,
    fused,
    indexing,
    joining,
    normalization,
    product,
    reduction,
    shape,
)
from treadle.link.c.program import Binary, CProgram
from treadle.link.c.runtime import Library
from treadle.link.c.simd import simd_functions
from treadle.link.c.table import TABLE
from treadle.link.c.toolchain import find_toolchain
from treadle.link.c.unit import FIXED, MOST_ARGUMENTS, Unit, dtype, ndim
from treadle.link.vm import Linker, link_in_segments
from treadle.tensor import Elemwise, FusedReduction, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.link.vm import Program

FAMILIES = (broadcasting, dimshuffle, elemwise, fused, indexing, joining, normalization, product, reduction, shape)


class _Libraries:
    """The runtime library, made once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: Library | None = None

    def get(self) -> Library:
        with self._lock:
            if self._known is None:
                self._known = Library(simd_functions())
            return self._known


_LIBRARIES = _Libraries()


class CLinker(Linker):
    """Links graphs to C."""

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> CProgram:
        """Return a program for the graph.

        Raises
        ------
        LoweringError
            If there are nodes without a rule, or of dtypes that C lacks; all are listed.
        BackendUnavailableError
            If there is no compiler.
        CompileError
            If the compiler fails.
        """
        del native_outputs
        order = fgraph.toposort()
        _refuse(order)
        toolchain = find_toolchain()
        if isinstance(toolchain, str):
            msg = f"c: {toolchain}. Or pick another mode."
            raise BackendUnavailableError(msg)
        unit, outputs = write_unit(fgraph, order)
        source = unit.text(outputs, _LIBRARIES.get())
        library = BRIDGE.open(toolchain.library(source))
        return CProgram(fgraph, order, _load(library, unit, source))


class StepwiseLinker(Linker):
    """Links graphs to C where C has rules, and to steps of the Python VM where it has none."""

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; stretches between Python steps are C programs of their own.

        Raises
        ------
        BackendUnavailableError
            If there is no compiler.
        CompileError
            If the compiler fails.
        """
        del native_outputs
        return link_in_segments(fgraph, CLinker(), lambda node: _gap(node) is None)


def write_unit(fgraph: FunctionGraph, order: Sequence[Apply]) -> tuple[Unit, list[tuple[Variable, int]]]:
    """Write a graph's C text into a unit; return it, with each output's array."""
    made = {out for node in order for out in node.outputs}
    given = set(fgraph.inputs)
    constants = [v for v in fgraph.variables if v not in made and v not in given]
    type_at, head = object_layout()
    unit = Unit(fgraph, constants, type_at, head, own_blas=bool(config.blas__ldflags))
    for var in (*fgraph.inputs, *constants):
        unit.slot(var)
    for index, node in enumerate(order):
        unit.begin(index)
        TABLE.find(node.op)(node.op, node, unit)  # type: ignore[misc]  # refused above if there is none
    return unit, _outputs(fgraph, unit, made, len(order))


def _outputs(fgraph: FunctionGraph, unit: Unit, made: set[Variable], after: int) -> list[tuple[Variable, int]]:
    """Give every output an array of its own: one that is an input, a constant, a view or named twice is copied."""
    unit.begin(after)
    outputs: list[tuple[Variable, int]] = []
    taken: set[Variable] = set()
    for var in fgraph.outputs:
        size = CTYPES[dtype(var)].size
        if var in made and var not in taken and unit.may_have_own_block(var):
            taken.add(var)
            outputs.append((var, unit.slots[var]))
            if not unit.has_own_block(var):
                unit.call(f"tr_materialise(v + {unit.slot(var)}, {ndim(var)}, {size}, tr_move{size})")
            continue
        target = unit.scratch()
        unit.call(f"tr_copy(v + {target}, v + {unit.slot(var)}, {ndim(var)}, {size}, tr_move{size})")
        outputs.append((var, target))
    return outputs


def _refuse(order: Sequence[Apply]) -> None:
    gaps = []
    for node in order:
        reason = _gap(node)
        if reason is not None:
            gaps.append((node, reason))
    if gaps:
        raise missing_lowerings(TABLE.backend, gaps)


def _gap(node: Apply) -> str | None:
    """Return why a node cannot be lowered, None if it can."""
    if TABLE.find(node.op) is None:
        return ""
    for var in (*node.inputs, *node.outputs):
        if not isinstance(var.type, TensorType):
            return f"C has no values of type {var.type}"
        if var.type.dtype not in CTYPES:
            return f"C has no {var.type.dtype}"
    if isinstance(node.op, Elemwise | FusedReduction):
        op = node.op if isinstance(node.op, Elemwise) else node.op.elementwise
        return unsupported(op, node) or None
    return None


def _load(library: Any, unit: Unit, source: str) -> Binary:
    """Fill the table of fixed values and find the entry point."""
    values = []
    for var in unit.constants:
        if not isinstance(var, Constant):
            msg = f"c: {var} is neither an input nor a constant of the graph. Make it an input."
            raise BackendUnavailableError(msg)
        # As in CProgram._plain: the array's dtype must be NumPy's own object.
        values.append(var.data.astype(np.dtype(dtype(var)), order="C", subok=False))
    inputs = len(unit.fgraph.inputs)
    pointers = blas_pointers() if unit.uses_blas and not unit.own_blas else {}
    descriptors = [np.dtype(dtype(v)) for v in (*unit.fgraph.inputs, *unit.constants)]
    fixed = BRIDGE.words(
        [
            id(np.ndarray),
            *(pointers.get(name, 0) for name in FIXED[1:]),
            *map(id, values),
            *map(id, descriptors),
        ]
    )
    count = inputs + len(unit.fgraph.outputs)
    run = BRIDGE.function(library, "treadle_run", (count if count <= MOST_ARGUMENTS else 1) + 2)
    return Binary(run, BRIDGE.address(fixed), (library, fixed, values, descriptors), unit.info_length, source)
