"""NumbaLinker: writes a graph as source text, compiles it with Numba, and returns the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treadle.config import COLLECTOR, config, span
from treadle.graph import Apply, Constant, FunctionGraph, Type, toposort
from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.program import NumbaProgram, Recipe
from treadle.link.numba.table import TABLE
from treadle.link.vm import WATCH, Program, ProgramGraph, TableLinker
from treadle.tensor import LoopLinker

if TYPE_CHECKING:
    from treadle.kernels import Address


class NumbaLinker(LoopLinker, TableLinker):
    """Links graphs to Numba. Numba is imported when the first graph is linked."""

    table = TABLE
    scalars = "treadle.link.numba.SCALARS"
    drives_in_python = True

    def inside(self, node: Apply) -> list[Apply]:
        """Return the nodes inside of a node, such as those of a loop's step."""
        from treadle.tensor import Scan

        return list(toposort(node.op.fgraph.outputs)) if isinstance(node.op, Scan) else []

    def is_array(self, kind: Type) -> bool:
        """Whether a type is a tensor type."""
        from treadle.tensor import TensorType

        return isinstance(kind, TensorType)

    def lacks_rule(self, node: Apply) -> bool:
        """Whether a node's op has no rule, or an elementwise function in it no text.

        False if the result has an unsupported dtype: then `check` names that as the reason.
        """
        from treadle.link.numba.scalars import SCALARS

        if super().lacks_rule(node):
            return True
        return all(self.holds(v.type) for v in node.outputs) and not SCALARS.covers(node.op)

    def rule(self, node: Apply) -> Callable[..., Any]:
        """Return the rule that writes a node."""
        rule: Callable[..., Any] = TABLE.rule(node)
        return rule

    def holds(self, kind: Type) -> bool:
        """Whether a type is a tensor type with a supported dtype."""
        from treadle.tensor import TensorType

        return isinstance(kind, TensorType) and kind.dtype in STORAGES

    def check(self, node: Apply) -> None:
        """Refuse a node that has no rule, or a dtype that is not supported."""
        from treadle.kernels import takes_real_only
        from treadle.link.numba.scalars import SCALARS, takes

        self.refuse(self.inside(node))
        SCALARS.check(node, STORAGES, takes, "Numba", real_only=takes_real_only(TABLE.rule(node)))

    def link_whole(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> NumbaProgram:
        """Return a program for the graph, compiled or loaded from the cache.

        All nodes without a rule, or with dtypes that the backend does not support, are refused together.
        """
        self.refuse(fgraph.toposort())
        with span("import"):
            from treadle.link.numba.compiler import COMPILER
            from treadle.link.numba.text.source import write_program

        with COLLECTOR.paused():
            with span("code generation"):
                written = write_program(fgraph, self.rule)
            text = "\n".join(unit.source for unit in written.entry.with_uses())
            _install_routines(text)
            entry = written.entry
            code = COMPILER.entry(entry)
        table, kept = table_of(written.constants, text)
        key = COMPILER.key(entry, entry=True)
        recipe = Recipe(key, COMPILER.stamp(), entry.name, text, written.constants, written.overwrites)
        return NumbaProgram(ProgramGraph.of(fgraph, native_outputs), code, table, kept, recipe)

    def dump_whole(self, program: Program) -> Recipe | None:
        """Return the program's recipe.

        None if option ``numba__cache`` keeps its machine code out of the cache, or it calls code of this process.
        """
        recipe: Recipe = program.recipe  # type: ignore[attr-defined]  # a NumbaProgram
        calls = not all(getattr(each, "is_storable", True) for each in recipe.constants)
        return None if calls or not config.numba__cache else recipe

    def load_whole(self, data: Recipe, graph: ProgramGraph) -> NumbaProgram:
        """Return the program of a recipe, whose machine code is in the cache (else a LookupError)."""
        from treadle.link.numba.compiler import COMPILER

        _install_routines(data.source)
        code = COMPILER.stored(data.key, data.stamp, data.name)
        table, kept = table_of(data.constants, data.source)
        return NumbaProgram(graph, code, table, kept, data)


def _install_routines(source: str) -> None:
    """Register with LLVM the functions of SciPy and NumPy that a text calls; LLVM resolves them when it loads code."""
    from treadle.link.numba.routines.externals import EXTERNALS
    from treadle.link.numba.routines.symbols import ROUTINES, SORTS, SPECIAL

    for symbols in (EXTERNALS, SPECIAL, ROUTINES, SORTS):
        symbols.install(source)


def table_of(constants: Sequence[Constant | Address], source: str) -> tuple[NDArray[np.int64], list[np.ndarray]]:
    """Return the words that the compiled function reads: what calls need, then the constants.

    A word holds the value of a constant of rank 0 if it fits, otherwise its address. Loops are ended by signals if
    `source` calls what looks for them.
    """
    from treadle.link.numba.interrupts import CALL
    from treadle.link.numba.routines import objects
    from treadle.link.numba.routines.externals import FIXED_WORDS
    from treadle.link.numba.routines.pool import POOL
    from treadle.link.numba.routines.threads import thread_count

    words = np.zeros(FIXED_WORDS + len(constants), np.int64)
    words[objects.FALLBACK : objects.WATCH] = objects.object_words()
    if CALL in source:
        words[objects.WATCH] = WATCH.address()
    words[FIXED_WORDS - 2], words[FIXED_WORDS - 1] = thread_count(), POOL.address()
    kept: list[np.ndarray] = []
    for at, constant in enumerate(constants, FIXED_WORDS):
        if not isinstance(constant, Constant):
            words[at] = constant.address()
            continue
        data = np.ascontiguousarray(constant.data)
        if constant.data.ndim == 0 and data.nbytes <= 8:
            words.view(np.uint8)[8 * at : 8 * at + data.nbytes] = np.frombuffer(data.tobytes(), np.uint8)
        else:
            kept.append(data)
            words[at] = data.ctypes.data
    return words, kept
