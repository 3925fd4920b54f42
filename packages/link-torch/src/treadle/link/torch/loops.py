"""Loops: Python leads through the steps, of which several make one compiled function.

Measured with PyTorch 2.13 on a CPU, in microseconds a step, of a few numbers / of a recurrent network of 64 units with
its gradient:

* operation by operation: 14 / 21;
* a compiled step, called from Python: 28 / 125, most of it the call;
* ``torch._higher_order_ops.scan`` inside one compiled function: 5 / 17;
* 16 steps (20 of the network) compiled as one function: 2 / 7, and compiled in the time that ``scan`` takes.

``scan`` moreover takes no condition, no loop without carries and no carries that change their shapes; ``while_loop``
copies a whole stacked result for each row. So neither is used, and

* all steps run operation by operation until that has cost more than a compilation
  (`treadle.link.torch.programs.deferral`);
* where tensors are small, a long loop then calls a function of sixteen steps. The steps that remain run operation by
  operation, and so do all steps of loops of fewer than four times as many;
* where tensors are large, a loop then calls a compiled function of one step;
* a step with choices or loops inside, with Python steps, or with lengths that change from step to step, is a program of
  its own, called for each.

A condition is looked at after each step; in a function of several steps, those after the last one change nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Protocol

import torch

from treadle.graph import Constant, FunctionGraph, NodeError, Value
from treadle.link.torch.device import DEVICES
from treadle.link.torch.programs.compilation import PROCESS, no_grad
from treadle.link.torch.programs.generation import either
from treadle.link.torch.programs.program import explained, invalid, loader, owned
from treadle.link.torch.programs.steps import CalledSteps, Step, StraightSteps
from treadle.link.torch.programs.storage import from_host, to_host
from treadle.link.torch.table import Flag
from treadle.link.vm import Program
from treadle.tensor import LoopInputs, Scan, TensorNode


class StepLinker(Protocol):
    """What links the bodies of loops."""

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int]) -> Program:
        """Return a program for a body."""

    def link_step(self, fgraph: FunctionGraph, varying: int) -> Step | None:
        """Return a body as one function; None if it is none, or if lengths depend on the first inputs' values."""


class _Results:
    """The stacked results, written in the place of all rows where their number is known."""

    def __init__(self, count: int | None) -> None:
        # The number of rows, None if it is not known.
        self._count = count
        self._whole: list[torch.Tensor] = []
        self._parts: list[Sequence[torch.Tensor]] = []
        self._done = 0

    def add(self, rows: Sequence[torch.Tensor]) -> None:
        """Add rows of each result, which must have the shapes of those before."""
        if not rows:
            return
        steps = rows[0].shape[0]
        known = self._whole or (self._parts[0] if self._parts else rows)
        if any(old.shape[1:] != new.shape[1:] for old, new in zip(known, rows, strict=True)):
            msg = "a result has rows of different shapes"
            raise ValueError(msg)
        if self._count is None or steps == self._count:
            self._parts.append(rows)
            return
        if not self._whole:
            self._whole = [x.new_empty((self._count, *x.shape[1:])) for x in rows]
        for stacked, part in zip(self._whole, rows, strict=True):
            stacked[self._done : self._done + steps].copy_(part)
        self._done += steps

    def get(self) -> list[torch.Tensor]:
        """Return the results."""
        if self._whole:
            return self._whole
        return [torch.cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*self._parts, strict=True)]


class Loop:
    """A loop as a function of its node's inputs: NumPy arrays or tensors in, tensors of the dtypes themselves out."""

    def __init__(self, op: Scan, node: TensorNode) -> None:
        self._op = op
        self._node = node

    def link(self, linker: StepLinker) -> None:
        """Link the body; the loop can be called then."""
        op = self._op
        self._place = place = DEVICES.chosen()
        body = op.fgraph.unfreeze()
        step = linker.link_step(body, op.n_sequences + op.n_carries)
        self._steps: StraightSteps | CalledSteps
        if step is None:
            self._steps = CalledSteps(op, self._node, linker.link(body, frozenset(range(len(body.outputs)))))
        else:
            self._steps = StraightSteps(op, step)
        self._load = [loader(v, place) for v in self._node.inputs[1:]]
        self._constants = {
            i: load(v.data)
            for i, (v, load) in enumerate(zip(self._node.inputs[1:], self._load, strict=True))
            if isinstance(v, Constant)
        }
        self._outputs = [(v.type.dtype, True) for v in self._node.outputs]

    def __call__(self, *values: Value) -> Value:
        """Run the loop; the error of a step that fails names the op and the user's line."""
        PROCESS.check()
        with no_grad():
            try:
                results = self._computed(values)
            except NodeError:
                raise
            except Exception as error:
                raise explained(self._alone(), self._varying(values), error) from error
        if results is None:
            original = invalid()
            raise explained(self._alone(), self._varying(values), original) from original
        return results[0] if len(results) == 1 else tuple(results)

    def _alone(self) -> FunctionGraph:
        """Return the loop as a graph of its own."""
        node = self._node
        return FunctionGraph([v for v in node.inputs if not isinstance(v, Constant)], node.outputs, clone=True)

    def _varying(self, values: Sequence[Value]) -> list[Value]:
        return [x for v, x in zip(self._node.inputs, values, strict=True) if not isinstance(v, Constant)]

    def _computed(self, values: Sequence[Value]) -> list[Value] | None:
        """Return the outputs, or None if values were found invalid."""
        op, count, fixed = self._op, int(values[0]), self._constants
        tensors = [
            fixed[i] if i in fixed else load(x) for i, (load, x) in enumerate(zip(self._load, values[1:], strict=True))
        ]
        arguments = op.sorted(tensors)
        if count < 0 or any(len(x) < count for x in arguments.sequences):
            msg = "the number of steps does not fit"
            raise ValueError(msg)
        if count == 0:
            results, steps = [*arguments.carries, *self._nothing(arguments)], 0
        else:
            looped = self._looped(count, arguments)
            if looped is None:
                return None
            results, steps = looped
        if op.has_until:
            results.append(torch.tensor(steps, device=self._place))
        return owned(self._outputs, results, tensors)

    def _looped(self, count: int, arguments: LoopInputs) -> tuple[list[torch.Tensor], int] | None:
        """Return what at least one step makes, and the number of steps; None if values were found invalid."""
        op, steps = self._op, self._steps
        carries: Sequence[torch.Tensor] = arguments.carries
        fixed = steps.prepared(arguments.constants)
        stacked = _Results(None if op.has_until else count)
        flags: Flag = None
        done, steady, goes_on = 0, True, True
        while goes_on and done < count:
            block = steps.advance(done, count, steady, arguments.sequences, carries, fixed)
            done += block.steps
            goes_on = block.goes_on
            steady = all(a.shape == b.shape for a, b in zip(carries, block.carries, strict=True))
            carries = block.carries
            stacked.add([x[: block.steps] for x in block.stacked])
            flags = either(flags, block.flag)
            # Invalid values may never meet the condition.
            if flags is not None and (op.has_until or done == count) and bool(flags):
                return None
        return [*carries, *stacked.get()], done

    def _nothing(self, arguments: LoopInputs) -> list[torch.Tensor]:
        """Return the stacked results of a loop of no steps."""
        arguments = arguments._replace(sequences=[x[:0] for x in arguments.sequences])
        host = [
            to_host(x.cpu(), v.type.dtype)
            for v, x in zip(self._node.inputs[1:], itertools.chain(*arguments), strict=True)
        ]
        return [from_host(x, x.dtype.name).to(self._place) for x in self._op.empty_results(self._op.sorted(host))]
