"""JaxProgram: a graph compiled by jax.jit, with NumPy arrays at its ends."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from os import getpid
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import numpy as np

from treadle.config import config
from treadle.graph import NodeError
from treadle.link.jax.errors import CheckFailedError, ForkedProcessError, RecompilationWarning
from treadle.link.jax.executables import ExecutableCache, Executables
from treadle.link.jax.variants import Variant, Variants
from treadle.link.vm import Program, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Constant, FunctionGraph, Type
    from treadle.link.jax.tracing import Assumptions, StagedGraph
    from treadle.link.vm import ProgramGraph


class HomeProcess:
    """The process that uses JAX: the first to make a program. JAX's threads do not survive a fork."""

    __slots__ = ("_pid",)

    def __init__(self) -> None:
        self._pid: int | None = None

    def enter(self) -> int:
        """Return the process id; the first caller's process becomes the home.

        Raises
        ------
        ForkedProcessError
            In a forked child of the home process.
        """
        here = getpid()
        if self._pid is None:
            self._pid = here
        if self._pid != here:
            raise forked(self._pid)
        return here


HOME = HomeProcess()


def forked(home: int) -> ForkedProcessError:
    """Return the error of a program in a forked child of the process `home`."""
    return ForkedProcessError(
        f"jax: process {getpid()} was forked from process {home}, which uses JAX; JAX hangs in a forked child. Start "
        'processes with multiprocessing.get_context("spawn"), or use another mode in the child.'
    )


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """What calling a program needs, beside its compiled forms.

    Attributes
    ----------
    by_value
        Positions of the inputs whose values decide shapes.
    arguments
        The constants that compiled forms take as arguments.
    cache
        Where compiled forms are kept between processes; None while they are not.
    """

    by_value: tuple[int, ...]
    arguments: tuple[Constant, ...]
    cache: ExecutableCache | None = None


class JaxProgram(Program):
    """A graph as a function compiled by JAX; it compiles again for each combination of input shapes.

    Where values decide shapes it compiles again too, but not for values that leave all shapes as they are: a slice of
    fixed length may start anywhere.

    Takes NumPy and JAX arrays, and arrays of other libraries (through the type's `to_host`). Returns NumPy arrays
    that the caller owns, and ``jax.Array`` for native outputs. 64-bit dtypes are enabled around trace and call, in
    the calling thread only.
    """

    __slots__ = ("_arguments", "_compiled", "_graph", "_native", "_pid", "_stage", "_staged", "_variants", "spec")

    host = False

    def __init__(
        self,
        graph: ProgramGraph,
        spec: ProgramSpec,
        stage_graph: Callable[[FunctionGraph], StagedGraph],
        staged: StagedGraph | None = None,
    ) -> None:
        self._pid = HOME.enter()
        self._graph = graph
        self._stage = stage_graph
        self._staged = staged
        self.spec = spec
        native = graph.native_outputs
        self._native = tuple(i in native for i in range(len(graph.outputs))) if native else ()
        with jax.enable_x64(True):
            self._arguments = tuple(jax.device_put(c.data) for c in spec.arguments)  # which compiles nothing
        self._variants = Variants(self._variant, int(config.jax__static_values))
        self._compiled: Callable[..., Any] = self._run_variant if spec.by_value else self._variant([]).form

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph."""
        return self._graph.get()

    @property
    def staged(self) -> StagedGraph:
        """How the graph is traced; a program that came out of the compile cache makes it when it is needed."""
        if self._staged is None:
            self._staged = self._stage(self.fgraph)
        return self._staged

    def rebound(self, graph: ProgramGraph, data: Any) -> JaxProgram:
        """Return this program for an equal graph of other origin."""
        del data
        other = copy(self)
        other._graph = graph
        return other

    def _variant(self, values: Sequence[Any]) -> Variant:
        about = tuple(x.tobytes() for x in values)
        assumptions: Assumptions = []
        form = Executables(
            lambda: self._traceable(values, assumptions), self._arguments, about, lambda: self.spec.cache
        )
        return Variant(form, about, assumptions)

    def _traceable(self, values: Sequence[Any], assumptions: Assumptions) -> Callable[..., Any]:
        staged = self.staged
        inputs = [staged.inputs[i] for i in self.spec.by_value]
        return staged.traceable(dict(zip(inputs, values, strict=True)), assumptions)

    def _deciding(self, values: Sequence[Any]) -> list[Any]:
        """Return those of the inputs whose values decide shapes, as NumPy arrays."""
        return [np.asarray(values[i]) for i in self.spec.by_value]

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        """Compute the outputs."""
        if getpid() != self._pid:
            raise forked(self._pid)
        try:
            return self._run(inputs)
        except RecompilationWarning:
            # The caller has made warnings errors.
            raise
        except Exception as error:  # noqa: BLE001 - whatever JAX raises, the replay explains it
            native = [self._as_native(x, i) for i, x in enumerate(inputs)]
            if any(a is not b for a, b in zip(native, inputs, strict=True)):
                return self(*native)
            self._fail(inputs, error)

    def _run(self, inputs: Sequence[Any]) -> Sequence[Any]:
        with jax.enable_x64(True):
            values, failed, _ = self._compiled(*inputs)
            if failed is not None and np.asarray(failed):
                msg = "a compiled check found values out of bounds"
                raise CheckFailedError(msg)
            if self._native:
                return self._finish(inputs, values)
            return [np.array(x) for x in values]

    def _run_variant(self, *values: Any) -> Any:
        inputs = list(values)
        deciding = self._deciding(values)
        for at, value in zip(self.spec.by_value, deciding, strict=True):
            inputs[at] = value
        return self._variants(deciding, inputs)

    def _finish(self, inputs: Sequence[Any], values: Sequence[Any]) -> Sequence[Any]:
        """Return the outputs, each in the form asked for.

        JAX reads a NumPy input while it computes, after its own call has returned (tried: a change of the input then
        changes the result). The caller may change its arrays once this returns, so it waits.
        """
        if any(isinstance(x, np.ndarray) for x in inputs):
            for x in values:
                x.block_until_ready()
        return [x if native else np.array(x) for x, native in zip(values, self._native, strict=True)]

    def _as_native(self, value: Any, at: int) -> Any:
        if isinstance(value, np.ndarray | jax.Array):
            return value
        return self._graph.inputs[at].to_host(value)

    def _fail(self, inputs: Sequence[Any], error: Exception) -> NoReturn:
        """Raise what the graph raises on the Python VM, which names the node."""
        found = replay(self.fgraph, inputs, error)
        if found is error:
            msg = f"jax: the compiled program failed ({type(error).__name__}: {error}), but NumPy finds nothing wrong."
            found = NodeError(msg)
        raise found from error

    def native_guard(self, kind: Type, name: str) -> tuple[str, dict[str, Any]] | None:
        """Return an expression that holds for JAX arrays of exactly the dtype and rank."""
        shape: Any = getattr(kind, "shape", None)
        if shape is None or any(n is not None for n in shape):
            return None
        dtype: Any = kind.numpy_dtype  # type: ignore[attr-defined]  # a tensor
        text = f"isinstance({name}, {name}_array) and {name}.dtype == {name}_dtype and {name}.ndim == {len(shape)}"
        return text, {f"{name}_array": jax.Array, f"{name}_dtype": dtype}

    def fetch(self, value: Any, type_: Type) -> Any:
        """Return a native output as a NumPy array that the caller owns."""
        del type_
        return np.array(value)

    def wait(self, values: Sequence[Any]) -> None:
        """Return when outputs in native form have been computed."""
        wait: Any = jax.block_until_ready  # which has no types
        wait(values)

    def jaxpr(self, *inputs: Any) -> Any:
        """Return what JAX compiles for these inputs, as a ``ClosedJaxpr``."""
        with jax.enable_x64(True):
            return jax.make_jaxpr(self._traceable(self._deciding(inputs), []))(*inputs, *self._arguments)
