"""JaxProgram: a graph compiled by jax.jit, with NumPy arrays at its ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import numpy as np

from treadle.config import config, dataclass
from treadle.graph import Constant, FunctionGraph, NodeError, Type, Value
from treadle.link.jax.errors import (
    BranchShapeError,
    CarryShapeError,
    CheckFailedError,
    RecompilationWarning,
)
from treadle.link.jax.placement import DEVICES, on_device
from treadle.link.jax.processes import HOME
from treadle.link.jax.programs.array_class import array_class
from treadle.link.jax.programs.calls import quick_caller, swap_x64, x64_before
from treadle.link.jax.programs.executables import ExecutableCache, Executables, Replaced
from treadle.link.jax.programs.ownership import owned, settled
from treadle.link.jax.programs.updates import write_calls
from treadle.link.jax.programs.variants import Variant, Variants
from treadle.link.jax.table import Array, Flag
from treadle.link.vm import Program, ProgramGraph, UpdatingText, replay
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr

    from treadle.link.jax.programs.tracing import Assumptions, Notes, Outcome, StagedGraph


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """What calling a program needs, beside its compiled forms."""

    # Positions of the inputs whose values decide shapes.
    by_value: tuple[int, ...]
    # The constants that compiled forms take.
    arguments: tuple[Constant, ...]
    # Where compiled forms are kept between processes; None while they are not.
    cache: ExecutableCache | None = None
    # The name of the device; empty for JAX's default.
    device: str = ""


def device_form(kind: Type, device: jax.Device | None) -> tuple[type, Callable[[np.ndarray], jax.Array]] | None:
    """Return the class of JAX's arrays, and a function that makes one of a NumPy array; None for other values."""
    return (array_class(), partial(on_device, device=device)) if isinstance(kind, TensorType) else None


class JaxProgram(Program):
    """A graph as a function compiled by JAX; it compiles again for each combination of input shapes.

    Where values decide shapes it compiles again too, but not for values that leave all shapes as they are: a slice of
    fixed length may start anywhere.

    Takes NumPy and JAX arrays, and arrays of other libraries (through the type's `to_host`). Returns NumPy arrays
    that the caller owns, and ``jax.Array`` for native outputs. 64-bit dtypes are enabled around trace and call, in
    the calling thread only.
    """

    __slots__ = ("_arguments", "_compiled", "_device", "_graph", "_native", "_stage", "_staged", "_variants", "spec")

    host = False
    compiles_in_calls = True

    def __init__(
        self,
        graph: ProgramGraph,
        spec: ProgramSpec,
        stage_graph: Callable[[FunctionGraph], StagedGraph],
        staged: StagedGraph | None = None,
    ) -> None:
        HOME.enter()
        self._graph = graph
        self._stage = stage_graph
        self._staged = staged
        self.spec = spec
        native = graph.native_outputs
        self._native = tuple(i in native for i in range(len(graph.outputs))) if native else ()
        self._device = DEVICES.find(spec.device)
        with jax.enable_x64(True):
            # Which compiles nothing.
            self._arguments = tuple(jax.device_put(c.data, self._device) for c in spec.arguments)
        self._variants = Variants(self._variant, int(config.jax__static_values))
        self._compiled: Callable[..., Outcome] = self._run_variant if spec.by_value else self._variant([]).form

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

    def rebound(self, graph: ProgramGraph, data: object) -> JaxProgram | None:
        """Return this program for an equal graph of other origin."""
        if self.whole is None:
            return None
        linker: Any = self.whole[0]
        other = copy(self)
        other.whole, other._graph = (linker, graph), graph.changed(linker.expanded)
        return other

    def _variant(self, values: Sequence[np.ndarray]) -> Variant:
        about = tuple(x.tobytes() for x in values)
        assumptions: Assumptions = []
        form = Executables(
            lambda replaced, notes: self._traceable(values, assumptions, replaced, notes),
            self._arguments,
            about,
            lambda: self.spec.cache,
            len(self._graph.outputs),
            self._device,
        )
        return Variant(form, about, assumptions)

    def _traceable(
        self,
        values: Sequence[np.ndarray],
        assumptions: Assumptions,
        replaced: Sequence[Replaced] = (),
        notes: Notes | None = None,
    ) -> Callable[..., Outcome]:
        staged = self.staged
        inputs = [staged.inputs[i] for i in self.spec.by_value]
        # A form that assumes another shape than a call has knows of no bounds there: it is called all the same.
        noted = None if self.spec.by_value else notes
        return staged.traceable(dict(zip(inputs, values, strict=True)), assumptions, replaced, noted)

    def _deciding(self, values: Sequence[Array]) -> list[np.ndarray]:
        """Return those of the inputs whose values decide shapes, as NumPy arrays."""
        return [np.asarray(values[i]) for i in self.spec.by_value]

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Compute the outputs."""
        if HOME.is_forked:
            raise HOME.error()
        try:
            before = x64_before()
            try:
                swap_x64(True)
                values, failed, _ = self._compiled(*inputs)
            finally:
                swap_x64(before)
            return self._finish(inputs, values, failed)
        except RecompilationWarning:
            # The caller has made warnings errors.
            raise
        except Exception as error:  # noqa: BLE001 - whatever JAX raises, the replay explains it
            native = [self._as_native(x, i) for i, x in enumerate(inputs)]
            if any(a is not b for a, b in zip(native, inputs, strict=True)):
                return self(*native)
            self._fail(inputs, error)

    def _run_variant(self, *values: Array) -> Outcome:
        inputs = list(values)
        deciding = self._deciding(values)
        for at, value in zip(self.spec.by_value, deciding, strict=True):
            inputs[at] = value
        return self._variants(deciding, inputs)

    def _finish(self, inputs: Sequence[Array], values: Sequence[jax.Array], failed: Flag) -> list[Array]:
        """Return the outputs, each in the form asked for, unless a check found invalid values."""
        if failed is not None and np.asarray(failed):
            msg = "a compiled check found values out of bounds"
            raise CheckFailedError(msg)
        return settled(inputs, values, self._native) if self._native else [owned(x) for x in values]

    def offer_caller(
        self, fallback: Callable[..., object], single: bool, take: Callable[[Callable[..., object]], None]
    ) -> None:
        """Pass on a function that calls compiled code at once; not where values decide shapes."""
        if isinstance(self._compiled, Executables):
            plain = fallback is self
            take(quick_caller(self._compiled, self._graph.inputs, self._native, single, fallback, plain=plain))

    def updating(
        self,
        replaced: Sequence[tuple[int, int]],
        write: Callable[..., None],
        text: UpdatingText | None = None,
    ) -> Callable[..., Sequence[Value]]:
        """Return a function like the program whose results take over the memory of values that they replace.

        The caller calls compiled code itself, where nothing has to be looked at.
        """
        if not isinstance(self._compiled, Executables):
            return self
        forms, kinds, native = self._compiled, self._graph.inputs, self._native
        forms.replaced = tuple(replaced)
        taken = [i for i, _ in replaced]
        take = None if text is None else write_calls(text, forms.arguments, kinds, native, taken, forms.count)
        caller: Any = quick_caller(forms, kinds, native, False, self, write, plain=True, take=take)
        return caller  # type: ignore[no-any-return]  # a list of the outputs

    def _as_native(self, value: object, at: int) -> Value:
        if isinstance(value, np.ndarray | jax.Array):
            return value
        return self._graph.inputs[at].to_host(value)

    def _fail(self, inputs: Sequence[Value], error: Exception) -> NoReturn:
        """Raise what the graph raises on the Python VM, which names the node."""
        explained = replay(self.fgraph, inputs, error)
        if explained is error:
            if isinstance(error, BranchShapeError | CarryShapeError):
                raise error
            msg = f"jax: the compiled program failed ({type(error).__name__}: {error}), but NumPy finds nothing wrong."
            explained = NodeError(msg)
        try:
            raise explained from error
        finally:
            del explained  # it leads to this frame

    def native_guard(self, kind: Type, name: str) -> tuple[str, dict[str, object]] | None:
        """Return an expression that holds for JAX arrays of exactly the dtype, rank and known lengths."""
        if not isinstance(kind, TensorType):
            return None
        # Shape and dtype of the array itself take a function of JAX's in Python each.
        text = f"type({name}) is {name}_array"
        text += f" and (({name}_aval := {name}.aval).dtype is {name}_dtype or {name}_aval.dtype == {name}_dtype)"
        text += f" and len({name}_aval.shape) == {kind.ndim}"
        text += "".join(f" and {name}_aval.shape[{d}] == {n}" for d, n in enumerate(kind.shape) if n is not None)
        return text, {f"{name}_array": array_class(), f"{name}_dtype": kind.numpy_dtype}

    def begun(self) -> JaxProgram:
        """Return this program with all results as JAX's arrays, which it copies NumPy arguments for, not to wait."""
        return BegunProgram(self)

    def device_form(self, kind: Type) -> tuple[type, Callable[[Value], Value]] | None:
        """Return the class of JAX's arrays, and a function that makes one of a NumPy array."""
        return device_form(kind, self._device)

    def fetch(self, value: object, type_: Type) -> np.ndarray:
        """Return a native output as a NumPy array that the caller owns."""
        return np.array(value)

    def wait(self, values: Sequence[object]) -> None:
        """Return when outputs in native form have been computed."""
        jax.block_until_ready(values)  # type: ignore[no-untyped-call]  # JAX does not say

    def jaxpr(self, *inputs: Array) -> ClosedJaxpr:
        """Return what JAX compiles for these inputs, as a ``ClosedJaxpr``."""
        with jax.enable_x64(True):
            return jax.make_jaxpr(self._traceable(self._deciding(inputs), []))(*inputs, *self._arguments)


class BegunProgram(JaxProgram):
    """A program that leaves the computation to JAX's threads."""

    __slots__ = ()

    def __init__(self, program: JaxProgram) -> None:
        for name in JaxProgram.__slots__:
            setattr(self, name, getattr(program, name))
        self._native = (True,) * len(self._graph.outputs)

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Begin to compute the outputs."""
        return super().__call__(*[on_device(x, self._device) if isinstance(x, np.ndarray) else x for x in inputs])

    def offer_caller(
        self, fallback: Callable[..., object], single: bool, take: Callable[[Callable[..., object]], None]
    ) -> None:
        """Offer none, which would wait."""

    def updating(
        self,
        replaced: Sequence[tuple[int, int]],
        write: Callable[..., None],
        text: UpdatingText | None = None,
    ) -> Callable[..., Sequence[Value]]:
        """Return the program itself."""
        return self
