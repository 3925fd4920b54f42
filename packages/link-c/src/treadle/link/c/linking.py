"""Linking a graph to C: checking it, writing its text, compiling that, and loading the program."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from weakref import WeakKeyDictionary

from treadle.config import COLLECTOR, span
from treadle.graph import Apply, FunctionGraph
from treadle.link.c.assembly import Assembly
from treadle.link.c.building import program_key, program_library
from treadle.link.c.checking import has_type
from treadle.link.c.conventions.abi import SharedLibrary
from treadle.link.c.errors import BackendUnavailableError, CompileError, HelperError, LibraryGoneError
from treadle.link.c.loading import Recipe, assemble, begin_loading_blas, open_library
from treadle.link.c.objects import Source
from treadle.link.c.runtime import Library
from treadle.link.c.runtime.additions import HELPERS
from treadle.link.c.support.libraries import SUPPORT
from treadle.link.c.table import TABLE
from treadle.link.c.text.scalars import SCALARS
from treadle.link.c.text.simd import simd_functions
from treadle.link.c.text.unit import NO_NODE, Unit, marked_node, write_unit
from treadle.link.c.toolchain import Toolchain, find_toolchain
from treadle.link.vm import (
    Later,
    Program,
    ProgramGraph,
    PythonLinker,
    RuleLinker,
    in_segments,
    link_in_segments,
    passes_by,
)
from treadle.tensor import Elemwise, FusedReduction, locking_of, tensors

# How often to compile and load a library that other processes keep removing.
TRIES = 3
# Whether the platform's linker knows a second symbol for a function.
LINKS_HELPERS = sys.platform == "linux"
ANTICIPATED: WeakKeyDictionary[FunctionGraph, int] = WeakKeyDictionary()
"""For how many dimensions helpers were begun, by the graph, before it was rewritten."""
# The messages of gcc and clang about a function that is not declared.
_UNKNOWN = re.compile(r"(?:implicit declaration of function|undeclared function) ['\u2018](\w+)['\u2019]")


class _SimdFunctions:
    """The functions on vectors that a toolchain has, which are found out when they are first asked for."""

    def __init__(self, toolchain: Toolchain) -> None:
        self._toolchain = toolchain

    def __contains__(self, name: object) -> bool:
        return name in simd_functions(self._toolchain)


def helper_library(toolchain: Toolchain, *, complete: bool = True) -> Library:
    """Return the helper functions, as they are written for a toolchain; without those of families if not `complete`."""
    if complete:
        TABLE.load()  # packages add their helpers with their rules
    return _library(toolchain, frozenset(HELPERS.texts.items()))


@cache
def _library(toolchain: Toolchain, added: frozenset[tuple[str, str]]) -> Library:
    """Return the helper functions, with those that packages have added."""
    del added
    return Library(_SimdFunctions(toolchain), threads=toolchain.threads)


def link_graph(
    fgraph: FunctionGraph, native_outputs: frozenset[int], linker: RuleLinker, *, keeps_blocks: bool
) -> Program:
    """Return a program for the graph; see `CLinker.link`."""
    with COLLECTOR.paused():
        return _link_graph(fgraph, native_outputs, linker, keeps_blocks=keeps_blocks)


def _link_graph(
    fgraph: FunctionGraph, native_outputs: frozenset[int], linker: RuleLinker, *, keeps_blocks: bool
) -> Program:
    rank = ANTICIPATED.get(fgraph, 1)
    fgraph = linker.expanded(fgraph)
    order = fgraph.toposort()
    passing = {node for node in order if passes_by(node, has_type)}
    linker.refuse(node for node in order if node not in passing)
    if passing or not all(has_type(v.type) for v in (*fgraph.inputs, *fgraph.outputs)):
        return PythonLinker().link(in_segments(fgraph, linker, lambda node: not passes_by(node, has_type)))
    toolchain = find_toolchain()
    if isinstance(toolchain, str):
        msg = f"c: {toolchain}. Or pick another mode."
        raise BackendUnavailableError(msg)
    with span("code generation"):
        unit = write_unit(fgraph, keeps_blocks=keeps_blocks)
        unit.ask_rank(rank)
        source = _source(toolchain, unit, link=LINKS_HELPERS and not toolchain.threads)
    if unit.uses_blas:
        begin_loading_blas()
    try:
        file, key = compile_unit(toolchain, unit, source)
    except HelperError:
        # As a part of the program, where the error names the node that calls them.
        source = _source(toolchain, unit, link=False)
        file, key = compile_unit(toolchain, unit, source)
    recipe = _recipe(unit, key, source.text)
    library = _opened(file, recipe, lambda: compile_unit(toolchain, unit, source)[0])
    program = assemble(ProgramGraph.of(fgraph, native_outputs), library, recipe)
    SUPPORT.begin(toolchain)
    return program


def _source(toolchain: Toolchain, unit: Unit, *, link: bool) -> Source:
    return Assembly(unit).source(helper_library(toolchain), link=link, divide=not toolchain.threads)


def link_stretches(fgraph: FunctionGraph, linker: RuleLinker, whole: RuleLinker) -> Program:
    """Return a program whose steps are C programs for stretches of nodes with C rules, and Python steps between them.

    The first linker links the stretches, the second a graph with such steps.
    """
    return link_in_segments(whole.expanded(fgraph, whole=True), linker, linker.lowers, whole)


def _opened(file: Path, recipe: Recipe, make: Callable[[], Path]) -> SharedLibrary:
    """Load a library; compile it again if another process has removed it, as the oldest of too many."""
    for _ in range(TRIES - 1):
        try:
            return open_library(file, recipe)
        except LibraryGoneError:
            file = make()
    return open_library(file, recipe)


def _recipe(unit: Unit, key: str, source: str) -> Recipe:
    """Return the recipe of a program from its unit and text."""
    needs = unit.requirements
    return Recipe(
        key=key,
        constants=tuple(unit.constants),
        inputs=tuple(v.type.dtype for v in tensors(unit.fgraph.inputs)),
        outputs=len(unit.fgraph.outputs),
        uses_blas=unit.uses_blas,
        uses_sorts=unit.uses_sorts,
        info_length=unit.info_length,
        keeps_blocks=unit.keeps_blocks,
        overwrites=unit.overwrites,
        errors=dict(needs.errors),
        # A user's texts may take any time.
        lock="release" if needs.has_texts else locking_of(unit.fgraph),
        pointers=needs.pointers if needs.initialises else None,
        headers=needs.user_headers(),
        source=Later.of(source),
        nodes=Later.of(tuple(unit.nodes)),
        loops=tuple(unit.loops),
    )


def compile_unit(toolchain: Toolchain, unit: Unit, source: Source) -> tuple[Path, str]:
    """Compile a unit's text, or find it in the cache; return the library, and the key that it is kept under."""
    needs, nodes = unit.requirements, unit.nodes
    chosen = toolchain.extended(needs.flags, needs.libraries)
    # Texts that are not our own may call anything.
    if needs.has_texts or not HELPERS.texts.keys().isdisjoint(source.helpers):
        chosen = chosen.complete()
    try:
        return program_library(toolchain, chosen, source), program_key(toolchain, chosen, source)
    except HelperError:
        raise
    except CompileError as error:
        at = marked_node(source.text, error.line) if error.line else NO_NODE
        node = nodes[at] if 0 <= at < len(nodes) else None
        if node is None:
            raise
        msg = f"{error}\nThis line belongs to {node.op}{node.where()}.{_undeclared_in(str(error), node)}"
        raise CompileError(msg, error.line) from error


def _undeclared_in(said: str, node: Apply) -> str:
    """Return a sentence on the elementwise functions of a node that call C functions unknown to the compiler."""
    op = node.op.elementwise if isinstance(node.op, FusedReduction) else node.op
    scalar_ops = op.scalar_ops if isinstance(op, Elemwise) else ()
    causes = []
    for name in sorted(set(_UNKNOWN.findall(said))):
        called = re.compile(rf"\b{name.removesuffix('f')}f?\b")
        named = [
            s.name
            for s in scalar_ops
            if any(isinstance(t, str) and called.search(t.replace("{s}", "")) for t in SCALARS.entries(s.name))
        ]
        causes += [f"its scalar op {scalar_op!r} calls {name}" for scalar_op in named]
    if not causes:
        return ""
    return f" C has no such function: {', '.join(causes)}. Correct its text in treadle.link.c.SCALARS."
