"""The linker: from a graph to a program, refusing at once everything that cannot be lowered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Literal, Self

import torch

from treadle.config import config, span
from treadle.graph import Apply, FunctionGraph, Type, Value
from treadle.link.torch.control_flow import ControlFlowProgram, is_control
from treadle.link.torch.device import DEVICES
from treadle.link.torch.dtypes import check_dtypes
from treadle.link.torch.programs.compilation import Compiled, can_compile
from treadle.link.torch.programs.deferral import Deferred, When
from treadle.link.torch.programs.forms import FunctionForms, ProgramForms
from treadle.link.torch.programs.generation import GeneratedFunction, generate
from treadle.link.torch.programs.planning import ExecutionPlan, plan_of
from treadle.link.torch.programs.program import TorchProgram
from treadle.link.torch.programs.steps import Step
from treadle.link.torch.programs.storage import from_host, refuse_transformed, to_native
from treadle.link.torch.programs.unrolling import unrolled
from treadle.link.torch.scalars import SCALARS
from treadle.link.torch.table import TORCH, Lowered
from treadle.link.torch.whole_loops import with_whole_loops
from treadle.link.vm import Program, ProgramGraph, Segment
from treadle.tensor import BinCount, DeviceLinker, Nonzero, TensorType

__all__ = ["TorchLinker"]


def _lower(node: Apply) -> Lowered:
    lowered: Lowered = TORCH.rule(node)(node.op, node)
    return lowered


def _makes_lengths_of_data(node: Apply) -> bool:
    """Whether the values of a node's inputs decide how long its results are."""
    return isinstance(node.op, Nonzero) or (isinstance(node.op, BinCount) and not node.op.bounded)


class TorchLinker(DeviceLinker):
    """Links graphs to PyTorch.

    Parameters
    ----------
    compiled
        Whether to use torch.compile at once, never, or when it is worth it; option ``torch__compile`` if None.
    device_outputs
        Whether functions return tensors; option ``torch__device_outputs`` if None.
    device
        The device that programs run on, such as ``cuda:1``; option ``torch__device`` if None.
    """

    table = TORCH
    scalars = "treadle.link.torch.SCALARS"
    device_option = "torch__device_outputs"
    devices = DEVICES

    def __init__(
        self,
        compiled: bool | Literal["auto"] | None = None,
        device_outputs: bool | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(device_outputs=device_outputs, device=device)
        self.compiled = compiled
        # Of the program that this linker links parts of; None for a linker of whole programs.
        self._forms: ProgramForms | None = None

    def place(self) -> torch.device:
        """Return the device that programs run on."""
        with self.placed():
            return DEVICES.chosen()

    def lacks_rule(self, node: Apply) -> bool:
        """Whether there is no rule for a node's op, or no kernel for an elementwise function of it."""
        return super().lacks_rule(node) or not SCALARS.covers(node.op)

    def plain_argument(self, value: Value) -> Value:
        """Return a tensor that requires gradients without them: calls compute values alone.

        Raises
        ------
        NodeTypeError
            If PyTorch is transforming it.
        """
        if torch._C._are_functorch_transforms_active():
            refuse_transformed([value])
        return value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value

    def to_native(self, value: Value, kind: Type) -> Value:
        """Return a NumPy array as a ``torch.Tensor`` of its own."""
        if not isinstance(kind, TensorType):
            return value
        return to_native(from_host(value.copy(), kind.dtype), kind.dtype).to(self.place())

    def check(self, node: Apply) -> Lowered:
        """Return what the node's rule makes of it."""
        return _lower(node)

    def link_whole(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; one with choices or loops is a `ControlFlowProgram`.

        All nodes without a lowering or of an unsupported dtype are refused together.
        """
        # A function may be compiled inside of what PyTorch transforms: constants are no part of that.
        with torch._C._DisableFuncTorch():
            return self._linked(fgraph, native_outputs, self._own_forms())

    def _linked(
        self, fgraph: FunctionGraph, native_outputs: frozenset[int], forms: ProgramForms
    ) -> TorchProgram | ControlFlowProgram:
        inner = self._within(forms)
        place = DEVICES.chosen()
        check_dtypes(fgraph, place)
        fgraph = unrolled(fgraph, config.torch__unroll)
        if any(map(is_control, fgraph.apply_nodes)):
            fgraph = with_whole_loops(fgraph, place)
            self.refuse(node for node in fgraph.toposort() if not isinstance(node.op, Segment))
            link = partial(self._linked, forms=forms)
            return ControlFlowProgram(fgraph, inner, place, native_outputs, forms, link)
        return inner._link_straight(fgraph, native_outputs)

    def _within(self, forms: ProgramForms) -> Self:
        """Return the linker of the parts of a program."""
        inner = copy(self)
        inner._forms = forms
        return inner

    def dump_whole(self, program: Program) -> tuple[FunctionGraph, str]:
        """Return the rewritten graph, whose text is written anew, and where compiled forms are kept from now on."""
        assert isinstance(program, TorchProgram | ControlFlowProgram)
        return program.fgraph, program.forms.keep()

    def load_whole(self, data: tuple[FunctionGraph, str], graph: ProgramGraph) -> Program:
        """Return the program of the rewritten graph."""
        fgraph, token = data
        with torch._C._DisableFuncTorch():
            return self._linked(fgraph, graph.native_outputs, ProgramForms(token))

    def link_stretch(self, fgraph: FunctionGraph, may_compile: bool) -> TorchProgram:
        """Return the program of a graph without choices and loops, whose results stay tensors."""
        return self._link_straight(fgraph, frozenset(range(len(fgraph.outputs))), may_compile)

    def link_step(self, fgraph: FunctionGraph, varying: int) -> Step | None:
        """Return the body of a loop, of which the first `varying` inputs change from step to step, as one function.

        None if it has choices, loops or nodes that run in Python, or lengths that depend on what changes.
        """
        fgraph = unrolled(self.expanded(fgraph), config.torch__unroll)
        if any(is_control(node) or self.runs_in_python(node) for node in fgraph.apply_nodes):
            return None
        plan = plan_of(fgraph)
        place = DEVICES.chosen()
        if plan.prelude or plan.read or not plan.hosts.keys().isdisjoint(fgraph.inputs[:varying]):
            return None
        generated = self._generated(fgraph, plan, place)
        return Step(fgraph.inputs, generated, len(plan.nodes), self._when(fgraph), self._own_forms(), fgraph.stable_key)

    def _generated(self, fgraph: FunctionGraph, plan: ExecutionPlan, place: torch.device) -> GeneratedFunction:
        with span("code generation"):
            nodes = (node for node in plan.nodes if not plan.on_numbers(node))
            return generate(fgraph, plan, TORCH.lower(nodes, _lower), place)

    def _link_straight(
        self, fgraph: FunctionGraph, native_outputs: frozenset[int], may_compile: bool = True
    ) -> TorchProgram:
        when = self._when(fgraph) if may_compile else When.NEVER
        return self._program(DEVICES.chosen(), when, self._own_forms(), fgraph, native_outputs)

    def _program(
        self,
        place: torch.device,
        when: When,
        program_forms: ProgramForms,
        fgraph: FunctionGraph,
        native_outputs: frozenset[int],
        own: int | None = None,
    ) -> TorchProgram:
        """Return the program of a graph without choices and loops; of its outputs the first `own` own their memory."""
        plan = plan_of(fgraph)
        generated = self._generated(fgraph, plan, place)
        if plan.read:
            when = When.NEVER
        run: Callable[..., Sequence[Value]] = generated.run
        count, forms = len(generated.tensors), FunctionForms(program_forms, fgraph.stable_key)
        if when is When.AT_ONCE and can_compile(place):
            run = Compiled(run, count, forms)
        elif when is When.WORTH_IT:
            run = Deferred(run, count, generated.operations, partial(can_compile, place), forms)
        relink = partial(self._program, place, when, program_forms)
        return TorchProgram(fgraph, generated, run, place, native_outputs, program_forms, relink, own)

    def _own_forms(self) -> ProgramForms:
        return ProgramForms() if self._forms is None else self._forms

    def _when(self, fgraph: FunctionGraph) -> When:
        """Return when a graph's function is compiled."""
        asked = config.torch__compile if self.compiled is None else self.compiled
        # torch.compile has no code for complex numbers: it would call the same functions as the uncompiled program.
        if asked is False or any(getattr(v.type, "dtype", "").startswith("complex") for v in fgraph.variables):
            return When.NEVER
        # Nor does it take lengths that depend on data wherever a length is compared with another.
        if any(map(_makes_lengths_of_data, fgraph.apply_nodes)):
            return When.NEVER
        return When.AT_ONCE if asked is True else When.WORTH_IT
