"""The program: values in, values out, which the caller owns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Any

import numpy as np
import torch

from treadle.graph import FunctionGraph, NodeError, NodeValueError, Type, Value, Variable
from treadle.link.torch.device import counted_memory
from treadle.link.torch.programs.calls import can_be_quick, quick_caller
from treadle.link.torch.programs.compilation import PROCESS
from treadle.link.torch.programs.forms import ProgramForms
from treadle.link.torch.programs.generation import GeneratedFunction
from treadle.link.torch.programs.storage import (
    STORAGE_DTYPES,
    from_host,
    from_native,
    is_native,
    refuse_transformed,
    to_host,
    to_native,
)
from treadle.link.torch.programs.updates import updating
from treadle.link.vm import Program, ProgramGraph, PythonLinker, UpdatingText, replay
from treadle.tensor import TensorType

Relink = Callable[[FunctionGraph, frozenset[int], int], "TorchProgram"]


def loader(var: Variable, place: torch.device) -> Callable[[Value], Value]:
    """Return the function that makes an input's value a stored tensor on the device."""
    kind = var.type
    if not isinstance(kind, TensorType):
        return lambda value: value
    dtype, to_numpy = kind.dtype, kind.to_host
    on_cpu = place.type == "cpu"

    def load_here(value: Value) -> torch.Tensor:
        # At each call, for each argument: a comparison of devices takes longer than all of this.
        if isinstance(value, torch.Tensor):
            if value.requires_grad:
                value = value.detach()
            return value if value.is_cpu else value.cpu()
        return from_host(value if isinstance(value, np.ndarray) else to_numpy(value), dtype)

    if on_cpu and dtype.startswith("complex"):
        # Sums of complex numbers take tensors by parts, which those that are only marked as conjugates have not.
        return lambda value: load_here(value).resolve_conj()
    if on_cpu and is_native(dtype):
        return load_here

    def load(value: Value) -> torch.Tensor:
        if isinstance(value, np.ndarray):
            tensor = from_host(value, dtype)
            return tensor if on_cpu else tensor.to(place)
        if isinstance(value, torch.Tensor):
            if value.requires_grad:
                value = value.detach()
            return from_native((value if value.device == place else value.to(place)).resolve_conj(), dtype)
        return from_host(to_numpy(value), dtype).to(place)

    return load


def tensor_guard(kind: Type, name: str) -> tuple[str, dict[str, object]] | None:
    """Return an expression that holds for PyTorch tensors of exactly the dtype, rank and known lengths of a type.

    Those of sparse layouts have them too, and are refused.
    """
    if not isinstance(kind, TensorType):
        return None
    text = f"type({name}) is {name}_tensor and {name}.dtype is {name}_dtype and {name}.ndim == {kind.ndim}"
    text += "".join(f" and {name}.shape[{d}] == {n}" for d, n in enumerate(kind.shape) if n is not None)
    text += f" and {name}.layout is {name}_layout"
    return text, {
        f"{name}_tensor": torch.Tensor,
        f"{name}_dtype": getattr(torch, kind.dtype),
        f"{name}_layout": torch.strided,
    }


def number(value: Value) -> float | tuple[int, ...]:
    """Return an input that decides shapes as a Python integer, a tuple of them, or a float: the bound of a range."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
    plain = value.tolist()
    if isinstance(plain, list):
        return tuple(plain)
    return plain if isinstance(plain, float) else int(plain)


def invalid() -> NodeValueError:
    """Return the error for values that a program has found invalid."""
    msg = "values were found invalid by the compiled program"
    return NodeValueError(msg)


def owned(
    kinds: Sequence[tuple[str, bool]],
    results: Sequence[Value],
    sources: Sequence[Value],
    reserved: Collection[int] = (),
) -> list[Value]:
    """Return results as outputs that share no memory; one that does, or is a part of a larger block, is copied.

    `kinds` has the dtype of each result, and whether it is to be a tensor. Memory of the tensors that results were
    computed from, and at the addresses in `reserved`, is not shared either.
    """
    shared = {t.untyped_storage().data_ptr() for t in sources if isinstance(t, torch.Tensor)}
    outputs: list[Value] = []
    for (dtype, native), result in zip(kinds, results, strict=True):
        if dtype not in STORAGE_DTYPES:
            outputs.append(result)
            continue
        tensor = result if native or result.is_cpu else result.cpu()
        storage = tensor.untyped_storage()
        place = storage.data_ptr()
        if place in shared or place in reserved or storage.nbytes() != tensor.nbytes:
            tensor = tensor.clone(memory_format=torch.contiguous_format)
            place = tensor.untyped_storage().data_ptr()
        shared.add(place)
        outputs.append(to_native(tensor, dtype) if native else to_host(tensor, dtype))
    return outputs


def explained(fgraph: FunctionGraph, inputs: Sequence[Value], error: Exception) -> Exception:
    """Return what the Python VM says about these inputs, or an error of PyTorch's own where it finds nothing wrong."""
    explanation = replay(fgraph, inputs, error)
    if explanation is not error:
        try:
            return explanation
        finally:
            # The error's traceback holds this frame, which would keep the values of the call alive with it.
            del explanation
    if isinstance(error, NodeError):
        msg = (
            "pytorch: values were found invalid, but the Python VM computes the graph without complaint. Run the "
            "function with the option torch__compile=False, and report what differs."
        )
        return NodeValueError(msg)
    first = (str(error).strip().splitlines() or [""])[0]
    msg = (
        f"pytorch: PyTorch failed on a graph that the Python VM computes, {type(error).__name__}: {first}. Run "
        "the function with the option torch__compile=False, or pick another mode."
    )
    return NodeError(msg)


class TorchProgram(Program):
    """A graph as one function of PyTorch tensors.

    Takes NumPy arrays and PyTorch tensors, and returns NumPy arrays, or PyTorch tensors for outputs asked for in
    native form. A result shares no memory with anything but itself.
    """

    host = False
    compiles_in_calls = True

    def __init__(
        self,
        fgraph: FunctionGraph,
        generated: GeneratedFunction,
        run: Callable[..., Sequence[Value]],
        place: torch.device,
        native_outputs: frozenset[int],
        forms: ProgramForms,
        relink: Relink,
        own: int | None = None,
    ) -> None:
        # Where compiled forms of its function are kept.
        self.forms = forms
        # Links a graph of the same inputs as this program was linked: with some native outputs, of which the first
        # so many are in memory of their own.
        self.relink = relink
        self._graph = ProgramGraph.of(fgraph, native_outputs)
        self._generated = generated
        self._run = run
        at = {v: i for i, v in enumerate(fgraph.inputs)}
        first = [v for v in (*generated.tensors, *generated.numbers) if v not in at]
        at |= {v: len(at) + i for i, v in enumerate(first)}
        self._prelude = PythonLinker().link(FunctionGraph(fgraph.inputs, first)) if first else None
        self._tensors = [(loader(v, place), at[v]) for v in generated.tensors]
        self._numbers = [at[v] for v in generated.numbers]
        self._constants = [loader(v, place)(v.data) for v in generated.constants]
        self._shared = frozenset(t.untyped_storage().data_ptr() for t in self._constants)
        outputs = fgraph.outputs[:own]
        self._outputs = [(str(getattr(v.type, "dtype", "")), i in native_outputs) for i, v in enumerate(outputs)]
        # The position from which on outputs are for a caller that only reads them.
        self._own = len(outputs)
        self.native_outputs = native_outputs
        self.place = place
        self._on_cpu = place.type == "cpu"
        # On the CPU, results in new memory are handed on as they are, unless a compiled function made them: that may
        # put several into one block.
        is_new = all(generated.fresh[: self._own])
        self._fresh = self._on_cpu and is_new and all(is_native(dtype) for dtype, _ in self._outputs)
        self._host = [i for i, (_, native) in enumerate(self._outputs) if not native]

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph."""
        return self._graph.get()

    def rebound(self, graph: ProgramGraph, data: object) -> TorchProgram:
        """Return this program for an equal graph of other origin."""
        other = copy(self)
        other._graph = graph
        return other

    @property
    def source(self) -> str:
        """Text of the generated function."""
        return self._generated.source

    @property
    def function(self) -> Callable[..., Sequence[Value]]:
        """The generated function, uncompiled: tensors, integers and constants in; a flag or None, and results out."""
        return self._generated.run

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Compute the outputs; the error of a node that fails names the op and the user's line."""
        PROCESS.check()
        if torch._C._is_any_autocast_enabled():
            # Results have the dtypes of the graph.
            with torch._C._DisableAutocast():
                return self(*inputs)
        if torch._C._are_functorch_transforms_active():
            refuse_transformed(inputs)
        try:
            values: Sequence[Value] = inputs
            if self._prelude is not None:
                host = [v.type.to_host(x) for v, x in zip(self.fgraph.inputs, inputs, strict=True)]
                values = (*inputs, *self._prelude(*host))
            tensors = [load(values[i]) for load, i in self._tensors]
            numbers = [number(values[i]) for i in self._numbers] if self._numbers else ()
            run = self._run
            bad, *results = run(*tensors, *numbers, *self._constants)
            # After the call: another thread may have compiled the function in the meantime.
            as_they_are = self._fresh and not getattr(run, "is_compiled", False)
            if bad is None or not bool(bad):
                if not as_they_are:
                    n = self._own
                    return [*owned(self._outputs, results[:n], tensors, self._shared), *results[n:]]
                for i in self._host:
                    results[i] = results[i].numpy()
                return results
        except Exception as error:
            raise explained(self.fgraph, inputs, error) from error
        original = invalid()
        raise explained(self.fgraph, inputs, original) from original

    def offer_caller(
        self, fallback: Callable[..., object], single: bool, take: Callable[[Callable[..., object]], None]
    ) -> None:
        """Pass on a function that calls the generated or compiled one at once."""
        kinds: list[Any] = list(self._graph.inputs)
        is_plain = self._on_cpu and can_be_quick(kinds) and can_be_quick(self._graph.outputs)
        if not is_plain or self._prelude is not None or self._numbers:
            return
        if [at for _, at in self._tensors] != [*range(len(kinds))]:
            return

        def copied(results: Sequence[Value], tensors: Sequence[Value]) -> Sequence[Value]:
            return owned(self._outputs, results, tensors, self._shared)

        native = [is_tensor for _, is_tensor in self._outputs]
        take(quick_caller(kinds, self._run, self._constants, native, copied, single, fallback, fresh=self._fresh))

    def updating(
        self,
        replaced: Sequence[tuple[int, int]],
        write: Callable[..., None],
        text: UpdatingText | None = None,
    ) -> Callable[..., Sequence[Value]]:
        """Return a function like the program that writes new values into old ones, where nobody holds these."""
        whole: list[Callable[..., Any]] = [self]
        self.offer_caller(self, False, whole.append)
        return updating(self, replaced, write, whole[-1]) if replaced else whole[-1]

    def loader(self, var: Variable) -> Callable[[Value], Value]:
        """Return the function that makes a value of a variable a stored tensor on the program's device."""
        return loader(var, self.place)

    def native_guard(self, kind: Type, name: str) -> tuple[str, dict[str, object]] | None:
        """Return an expression that holds for PyTorch tensors of exactly the dtype, rank and known lengths."""
        return tensor_guard(kind, name)

    def fetch(self, value: Value, type_: Type) -> Value:
        """Return an output in native form as a NumPy array that the caller owns."""
        array = type_.to_host(value)
        return np.array(array) if isinstance(array, np.ndarray) else array

    def wait(self, values: Sequence[object]) -> None:
        """Return when outputs in native form have been computed: a device other than the CPU works on its own."""
        if not self._on_cpu:
            torch.accelerator.synchronize()

    def device_memory(self) -> Callable[[], int] | None:
        """Begin to count the device's memory anew; return what reads its peak, None on the CPU."""
        return counted_memory(self.place)
