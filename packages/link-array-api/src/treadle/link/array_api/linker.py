"""The linker: from a graph to a program, refusing at once everything that cannot be lowered."""

from __future__ import annotations

from typing import Any

from treadle.config import span
from treadle.graph import Apply, Constant, FunctionGraph, Type, Unsupported, Value, Variable
from treadle.link.array_api.libraries import DEVICES, Library, library
from treadle.link.array_api.loops import Loop
from treadle.link.array_api.program import ArrayProgram, loader
from treadle.link.array_api.table import ARRAY_API, SCALARS, Lowered
from treadle.link.array_api.views import fresh_outputs
from treadle.link.vm import Program, ProgramGraph, generate
from treadle.tensor import DeviceLinker, TensorType

__all__ = ["ArrayAPILinker"]


class ArrayAPILinker(DeviceLinker):
    """Links graphs to the functions of an array library; option ``array_api__namespace`` says which."""

    table = ARRAY_API
    scalars = "treadle.link.array_api.SCALARS"
    device_option = "array_api__device_outputs"
    devices = DEVICES

    def lacks_rule(self, node: Apply) -> bool:
        """Whether there is no rule for a node, or the library lacks what it takes: it then runs on the host."""
        if super().lacks_rule(node) or not SCALARS.covers(node.op):
            return True
        if not _has_dtypes(node, library()):
            return False  # nor can it be made there: `check` refuses it
        try:
            ARRAY_API.rule(node)(node.op, node)
        except Unsupported:
            return True
        return False

    def to_native(self, value: Value, kind: Type) -> Value:
        """Return a NumPy array as an array of the library's own."""
        with self.placed():
            return library().asarray(value.copy()) if isinstance(kind, TensorType) else value

    def check(self, node: Apply) -> Lowered:
        """Return what the node's rule makes of it."""
        lib = library()
        if not _has_dtypes(node, lib):
            lacking = ", ".join(sorted(_dtypes(node) - {*lib.dtypes}))
            msg = f"{lib.name} has no numbers of dtype {lacking}"
            raise Unsupported(msg, "build the expression with another dtype (tt.cast)")
        lowered: Lowered = ARRAY_API.rule(node)(node.op, node)
        return lowered

    def link_whole(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> ArrayProgram:
        """Return a program for the graph; all nodes without a lowering are refused together."""
        lib = library()
        with span("code generation"):
            callables = ARRAY_API.lower(fgraph.toposort(), self.check)
            for function in callables.values():
                if isinstance(function, Loop):
                    function.link(self)
            listing = generate(fgraph, callables, self._frees(), shares=True, value_of=lambda var: _constant(var, lib))
        return ArrayProgram(fgraph, lib, listing.run, listing.source, fresh_outputs(fgraph), native_outputs)

    def dump_whole(self, program: Program) -> FunctionGraph:
        """Return the rewritten graph: its text is written anew."""
        assert isinstance(program, ArrayProgram)
        return program.fgraph

    def load_whole(self, data: FunctionGraph, graph: ProgramGraph) -> Program:
        """Return the program of the rewritten graph."""
        return self.link_whole(data, graph.native_outputs)


def _dtypes(node: Apply) -> set[str]:
    return {v.type.dtype for v in (*node.inputs, *node.outputs) if isinstance(v.type, TensorType)}


def _has_dtypes(node: Apply, lib: Library) -> bool:
    return _dtypes(node) <= lib.dtypes.keys()


def _constant(var: Variable, lib: Library) -> Any:
    assert isinstance(var, Constant)
    return loader(var, lib)(var.data)
