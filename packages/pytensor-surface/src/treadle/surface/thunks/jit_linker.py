"""JITLinker: the base of linkers that hand a whole graph to another compiler, written as documented."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import MethodNotDefinedError, is_thunk_type
from treadle.surface.thunks.containers import containers, map_storage
from treadle.surface.thunks.vm_linker import PerformLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import Apply, Cell, Compute, FunctionGraph, ThunkType, Value, Variable
    from treadle.surface.thunks.containers import StorageMap
    from treadle.surface.thunks.linker import All


class JITLinker(PerformLinker):
    """Base of linkers that turn a graph into one function, and pass that to a compiler.

    A subclass implements `fgraph_convert` (with the help of `fgraph_to_python`, as a rule), `jit_compile` and
    `create_thunk_inputs`; it may override `input_filter` and `output_filter`.
    """

    required_rewrites = ("minimum_compile",)
    incompatible_rewrites = ("cxx_only", "BlasOpt", "fusion", "inplace")
    capabilities: frozenset[str] = frozenset()

    def fgraph_convert(
        self,
        fgraph: FunctionGraph,
        order: Sequence[Apply],
        input_storage: Sequence[Cell],
        output_storage: Sequence[Cell],
        storage_map: StorageMap,
        **kwargs: object,
    ) -> Compute:
        """Return a function of the values of `create_thunk_inputs` that the compiler takes.

        Raises
        ------
        MethodNotDefinedError
            If the subclass does not implement it.
        """
        method = "fgraph_convert(fgraph, order, input_storage, output_storage, storage_map)"
        raise self._lacks(method)

    def jit_compile(self, fn: Callable[..., object]) -> Compute:
        """Return the compiled form of a function; of values in, a tuple of the outputs' values out.

        Raises
        ------
        MethodNotDefinedError
            If the subclass does not implement it.
        """
        method = "jit_compile(fn)"
        raise self._lacks(method)

    def create_thunk_inputs(self, storage_map: StorageMap) -> list[Cell]:
        """Return the cells whose values the function is called with: by default, those of the graph's inputs."""
        return [storage_map[var] for var in self._accepted().inputs]

    def input_filter(self, inp: object) -> Value:
        """Return a value as the compiled function takes it."""
        return inp

    def output_filter(self, var: Variable, out: object) -> Value:
        """Return a result as it is put into the output's cell."""
        return out

    def _lacks(self, method: str) -> MethodNotDefinedError:
        msg = f"{type(self).__name__}: a JITLinker must implement {method}."
        return MethodNotDefinedError(msg)

    def create_jitable_thunk(
        self,
        compute_map: Mapping[Variable, list[bool]],
        order: Sequence[Apply],
        input_storage: Sequence[Cell],
        output_storage: Sequence[Cell],
        storage_map: StorageMap,
    ) -> tuple[list[ThunkType], list[Apply], Compute]:
        """Return the one thunk of the graph, the last node in its place, and the compiled function."""
        fgraph = self._accepted()
        convert = self.fgraph_convert(fgraph, order, input_storage, output_storage, storage_map)
        run = self.jit_compile(convert)
        inputs = self.create_thunk_inputs(storage_map)

        def compute() -> None:
            results = run(*[self.input_filter(cell[0]) for cell in inputs])
            for var, cell, value in zip(fgraph.outputs, output_storage, results, strict=True):
                cell[0] = self.output_filter(var, value)
                compute_map[var][0] = True

        thunk = is_thunk_type(compute)
        thunk.inputs, thunk.outputs, thunk.lazy = inputs, list(output_storage), False
        return [thunk], list(order[-1:]), run

    def make_all(
        self,
        input_storage: Sequence[object] | None = None,
        output_storage: Sequence[object] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: object,
    ) -> All:
        """Return the thunk of the whole graph, containers, the thunk in a list, and the last node in its place."""
        fgraph = self._accepted()
        order = self.schedule(fgraph)
        inputs, outputs, cells = map_storage(fgraph, order, input_storage, output_storage, storage_map)
        flags = {var: [False] for var in cells}
        thunks, nodes, run = self.create_jitable_thunk(flags, order, inputs, outputs, cells)
        thunk: Any = thunks[0]
        thunk.jit_fn, thunk.storage_map, thunk.allow_gc = run, cells, self._frees()
        return thunk, containers(fgraph.inputs, inputs), containers(fgraph.outputs, outputs), list(thunks), nodes
