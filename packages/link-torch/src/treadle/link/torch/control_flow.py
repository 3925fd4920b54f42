"""Graphs with choices and loops: Python leads from one stretch between them to the next.

Each stretch is a program of its own, compiled as one whole. A branch in compiled code would be ``torch.cond``, which
wants the same shapes, strides and dtypes from both branches and no memory shared with anything, and whose code for
lengths that change from call to call did not compile (tried with PyTorch 2.13). Here only the branch taken runs, and
branches may differ in shape. For loops see `treadle.link.torch.whole_loops` and `treadle.link.torch.loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from treadle.graph import Apply, Compute, FunctionGraph, IfElse, Type, Value, Variable
from treadle.link.torch.device import counted_memory
from treadle.link.torch.loops import Loop, StepLinker
from treadle.link.torch.programs.forms import ProgramForms
from treadle.link.torch.programs.program import TorchProgram, loader, tensor_guard
from treadle.link.torch.programs.storage import from_host, is_native, refuse_transformed, to_native
from treadle.link.torch.programs.updates import Run, updating
from treadle.link.torch.table import TORCH
from treadle.link.torch.whole_loops import on_arrays
from treadle.link.vm import Program, ProgramLinker, Segment, UpdatingText, generate, in_segments
from treadle.tensor import Scan


class StretchLinker(StepLinker, Protocol):
    """What links the stretches and the bodies of loops."""

    def link_stretch(self, fgraph: FunctionGraph, may_compile: bool) -> TorchProgram:
        """Return the program of a stretch, whose results stay tensors."""


# A stretch of so few nodes that makes single numbers, a condition most often, is not worth a compilation.
FEW = 3


def is_control(node: Apply) -> bool:
    """Whether Python runs a node between stretches."""
    return isinstance(node.op, IfElse | Scan | Segment)


class _Stretches(ProgramLinker):
    """Links stretches to programs whose results stay PyTorch tensors."""

    def __init__(self, linker: StretchLinker) -> None:
        self._linker = linker

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> TorchProgram:
        numbers = all(getattr(v.type, "ndim", 1) == 0 for v in fgraph.outputs)
        return self._linker.link_stretch(fgraph, not (numbers and len(fgraph) <= FEW))


class ControlFlowProgram(Program):
    """A graph with choices, loops and programs of another backend, between stretches that `linker` links."""

    host = False
    compiles_in_calls = True

    def __init__(
        self,
        fgraph: FunctionGraph,
        linker: StretchLinker,
        place: torch.device,
        native_outputs: frozenset[int],
        forms: ProgramForms,
        link: Callable[[FunctionGraph, frozenset[int]], Program],
    ) -> None:
        self.fgraph = fgraph
        # Where compiled forms of its parts are kept.
        self.forms = forms
        self.native_outputs = native_outputs
        self.place = place
        # Links a graph of the same inputs as this program was linked, with some native outputs.
        self._link = link
        # Of tensors whose dtypes PyTorch computes with; stretches load the others.
        self._load = [loader(v, place) if is_native(getattr(v.type, "dtype", "")) else None for v in fgraph.inputs]
        outer = in_segments(fgraph, _Stretches(linker), lambda node: not is_control(node))
        _let_share(outer)
        callables = {node: _callable(node, linker) for node in outer.toposort()}
        programs = [node.op.program for node in outer.toposort() if isinstance(node.op, Segment)]
        self.stretches = [program for program in programs if isinstance(program, TorchProgram)]
        generated = generate(
            outer, callables, free=True, copy=lambda x: x.clone() if isinstance(x, torch.Tensor) else x.copy()
        )
        self.source = generated.source
        self._run = generated.run

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Compute the outputs; the error of a node that fails names the op and the user's line."""
        if torch._C._are_functorch_transforms_active():
            refuse_transformed(inputs)
        values = [
            load(x) if load is not None and isinstance(x, torch.Tensor) else x
            for load, x in zip(self._load, inputs, strict=True)
        ]
        results = self._run(*values)
        return [
            self._native_form(x, v.type) if i in self.native_outputs else v.type.to_host(x)
            for i, (x, v) in enumerate(zip(results, self.fgraph.outputs, strict=True))
        ]

    def updating(
        self,
        replaced: Sequence[tuple[int, int]],
        write: Callable[..., None],
        text: UpdatingText | None = None,
    ) -> Callable[..., Sequence[Value]]:
        """Return a function like the program that writes new values into old ones, where nobody holds these."""
        return updating(self, replaced, write, self) if replaced else self

    def relink(self, fgraph: FunctionGraph, native_outputs: frozenset[int], own: int) -> Run:
        """Link a graph of the same inputs, as `UpdatingProgram` says."""
        read = range(own, len(fgraph.outputs))
        program = self._link(fgraph, native_outputs.union(read))
        load = [self.loader(fgraph.outputs[k]) for k in read]

        def run(*values: Value) -> Sequence[Value]:
            results = program(*values)
            return [*results[:own], *(f(x) for f, x in zip(load, results[own:], strict=True))]

        return run

    def loader(self, var: Variable) -> Callable[[Value], Value]:
        """Return the function that makes a value of a variable a stored tensor on the program's device."""
        return loader(var, self.place)

    def native_guard(self, kind: Type, name: str) -> tuple[str, dict[str, object]] | None:
        """Return an expression that holds for tensors of exactly the type, where PyTorch stores them as they are."""
        return tensor_guard(kind, name) if is_native(getattr(kind, "dtype", "")) else None

    def _native_form(self, value: Value, type_: Type) -> Value:
        if isinstance(value, torch.Tensor):
            return value
        dtype = getattr(type_, "dtype", "")
        return to_native(from_host(value, dtype), dtype).to(self.place)

    def fetch(self, value: Value, type_: Type) -> Value:
        """Return an output in native form as a NumPy array that the caller owns."""
        return type_.copy_value(type_.to_host(value))

    def device_memory(self) -> Callable[[], int] | None:
        """Begin to count the device's memory anew; return what reads its peak, None on the CPU."""
        return counted_memory(self.place)


def _let_share(outer: FunctionGraph) -> None:
    """Let choices pass values on as they are, and say so: outputs that share memory are then copied."""
    for node in outer.toposort():
        op = node.op
        if isinstance(op, IfElse) and not op.as_view:
            sharing = IfElse(op.n_outs, True, op.name).make_node(*node.inputs)
            sharing.user_line = node.user_line
            outer.replace_all(zip(node.outputs, sharing.outputs, strict=True))


def _callable(node: Apply, linker: StretchLinker) -> Compute:
    op = node.op
    if isinstance(op, Segment):
        program = op.program
        if not isinstance(program, TorchProgram):
            return on_arrays(program)
        if len(node.outputs) == 1:
            return lambda *values: program(*values)[0]
        return lambda *values: tuple(program(*values))
    function: Compute = TORCH.rule(node)(op, node)
    if isinstance(function, Loop):
        function.link(linker)
    return function
