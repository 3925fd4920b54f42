"""NumbaLinker: writes a graph as source text, has it compiled, and returns the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import missing_lowerings
from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.table import TABLE
from treadle.link.vm import Linker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.graph import Apply, Constant, FunctionGraph, Variable
    from treadle.link.numba.program import NumbaProgram


class NumbaLinker(Linker):
    """Links graphs to Numba. Numba is imported when the first graph is linked."""

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> NumbaProgram:
        """Return a program for the graph, compiled or loaded from the cache.

        Raises
        ------
        LoweringError
            If there are nodes without a lowering, or of dtypes that the backend does not have; all are listed.
        """
        del native_outputs
        from treadle.link.numba.compiler import COMPILER
        from treadle.link.numba.program import NumbaProgram
        from treadle.link.numba.source import write_program

        order = fgraph.toposort()
        gaps = list(_gaps(order))
        if gaps:
            raise missing_lowerings(TABLE.backend, gaps)
        written = write_program(fgraph, order)
        run = COMPILER.get(written.entry, entry=True)
        table, kept = _table(written.constants, written.uses_blas)
        text = "\n".join(unit.source for unit in written.entry.with_uses())
        return NumbaProgram(fgraph, run, table, kept, text)


def _gaps(order: Sequence[Apply]) -> Iterator[tuple[Apply, str]]:
    """Yield every node that cannot be lowered, with the reason."""
    from treadle.link.numba import lower
    from treadle.tensor import Elemwise, FusedReduction

    for node in order:
        if TABLE.find(node.op) is None:
            yield node, ""
            continue
        reason = next((r for r in map(_refused_type, (*node.inputs, *node.outputs)) if r), "")
        if not reason and isinstance(node.op, Elemwise | FusedReduction):
            op = node.op if isinstance(node.op, Elemwise) else node.op.elementwise
            reason = lower.elemwise.refusal(op, node)
        if reason:
            yield node, reason


def _refused_type(var: Variable) -> str:
    from treadle.tensor import TensorType

    kind = var.type
    if not isinstance(kind, TensorType):
        return f"{kind} is no tensor"
    return "" if kind.dtype in STORAGES else f"Numba has no lowering for dtype {kind.dtype} here"


def _table(constants: Sequence[Constant], uses_blas: bool) -> tuple[Any, list[Any]]:
    """Return the words that the compiled function reads: addresses of BLAS routines, then the constants.

    A constant of rank 0 stands in its word, any other is pointed to.
    """
    import numpy as np

    from treadle.link.numba.blas import BLAS, ROUTINES

    words = np.zeros(len(ROUTINES) + len(constants), np.int64)
    if uses_blas:
        words[: len(ROUTINES)] = [BLAS.address(name) for name in ROUTINES]
    kept: list[Any] = []
    for at, constant in enumerate(constants, len(ROUTINES)):
        data = np.ascontiguousarray(constant.data)
        if constant.data.ndim == 0:
            words.view(np.uint8)[8 * at : 8 * at + data.nbytes] = np.frombuffer(data.tobytes(), np.uint8)
        else:
            kept.append(data)
            words[at] = data.ctypes.data
    return words, kept
