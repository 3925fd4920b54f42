"""The program: values in, values out, which the caller owns; and errors that name the node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Any

import numpy as np

from treadle.graph import FunctionGraph, NodeError, Type, Value, Variable
from treadle.link.array_api.libraries import Library
from treadle.link.array_api.table import Array
from treadle.link.vm import Program, ProgramGraph, replay
from treadle.tensor import TensorType


def loader(var: Variable, lib: Library) -> Callable[[Value], Value]:
    """Return the function that makes an input's value an array of the library."""
    kind = var.type
    if not isinstance(kind, TensorType):
        return lambda value: value
    own, to_numpy, asarray = lib.array_type, kind.to_host, lib.asarray

    def load(value: Value) -> Array:
        if isinstance(value, own):
            return value
        return asarray(value if isinstance(value, np.ndarray) else to_numpy(value))

    return load


def explained(fgraph: FunctionGraph, inputs: Sequence[Value], error: Exception, lib: Library) -> Exception:
    """Return what the Python VM says about these inputs, or the library's own error where it finds nothing wrong."""
    explanation = replay(fgraph, host_values(fgraph, inputs, lib), error)
    if explanation is not error:
        try:
            return explanation
        finally:
            # The error's traceback holds this frame, which would keep the values of the call alive with it.
            del explanation
    first = (str(error).strip().splitlines() or [""])[0]
    msg = (
        f"array_api: {lib.name} failed on a graph that the Python VM computes, {type(error).__name__}: {first}. Name "
        "another library with the option array_api__namespace, or pick another mode."
    )
    return NodeError(msg)


def host_values(fgraph: FunctionGraph, values: Sequence[Value], lib: Library) -> list[Value]:
    """Return values of a graph's inputs as host values."""
    own = lib.array_type
    return [
        v.type.to_host(lib.to_host(x)) if isinstance(x, own) else x for v, x in zip(fgraph.inputs, values, strict=True)
    ]


class ArrayProgram(Program):
    """A graph as one function of arrays, which calls the library's functions one by one.

    Takes NumPy arrays and the library's own, and returns NumPy arrays, or its own for outputs asked for in native form.

    Parameters
    ----------
    fgraph
        The graph.
    lib
        The library.
    run, source
        The function, and its text.
    fresh
        Positions of outputs that no other value shares memory with.
    native_outputs
        Positions of outputs to return as the library's arrays.
    """

    host = False

    def __init__(
        self,
        fgraph: FunctionGraph,
        lib: Library,
        run: Callable[..., Sequence[Array]],
        source: str,
        fresh: Collection[int],
        native_outputs: frozenset[int],
    ) -> None:
        self._graph = ProgramGraph.of(fgraph, native_outputs)
        self._lib = lib
        self._run = run
        self.source = source
        self._load = [loader(v, lib) for v in fgraph.inputs]
        self._outputs = [(v.type, i in native_outputs, i in fresh) for i, v in enumerate(fgraph.outputs)]

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph."""
        return self._graph.get()

    def rebound(self, graph: ProgramGraph, data: object) -> ArrayProgram:
        """Return this program for an equal graph of other origin."""
        other = copy(self)
        other._graph = graph
        return other

    def computed(self, inputs: Sequence[Value]) -> Sequence[Array]:
        """Return the outputs as the library's arrays, which may share memory; an error names the op and its line."""
        try:
            # Of the library NumPy alone, which warns of what gives NaN, infinities or integers cut short.
            with np.errstate(all="ignore"):
                return self._run(*[load(x) for load, x in zip(self._load, inputs, strict=True)])
        except NodeError:
            raise
        except Exception as error:
            raise explained(self.fgraph, inputs, error, self._lib) from error

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Compute the outputs."""
        results = self.computed(inputs)
        return [self._output(x, *how) for x, how in zip(results, self._outputs, strict=True)]

    def _output(self, x: Array, kind: Type, native: bool, fresh: bool) -> Value:
        """Return a result in the form asked for, in memory of its own."""
        if not isinstance(kind, TensorType):
            return x
        if native:
            return x if fresh and isinstance(x, self._lib.array_type) else self._lib.owned(x)
        array = self._lib.to_host(x)
        if fresh and array.flags.owndata and array.flags.writeable:
            return array
        return np.array(array, copy=True, order="C")

    def native_guard(self, kind: Type, name: str) -> tuple[str, dict[str, object]] | None:
        """Return an expression that holds for the library's arrays of exactly the dtype and rank."""
        if not isinstance(kind, TensorType) or any(n is not None for n in kind.shape) or self._lib.is_numpy:
            return None
        text = f"type({name}) is {name}_array and {name}.dtype == {name}_dtype and {name}.ndim == {kind.ndim}"
        return text, {f"{name}_array": self._lib.array_type, f"{name}_dtype": self._lib.dtypes[kind.dtype]}

    def fetch(self, value: Any, type_: Type) -> Value:
        """Return an output in native form as a NumPy array that the caller owns."""
        return type_.copy_value(type_.to_host(self._lib.to_host(value)))
