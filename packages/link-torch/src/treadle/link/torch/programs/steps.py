"""Steps of loops: some of them from what those before have made (see `treadle.link.torch.loops`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from treadle.graph import NodeError, Value, Variable
from treadle.link.torch.device import DEVICES
from treadle.link.torch.programs.compilation import SMALL, Compiled, can_compile
from treadle.link.torch.programs.deferral import Budget, When
from treadle.link.torch.programs.forms import FunctionForms, ProgramForms
from treadle.link.torch.programs.generation import GeneratedFunction, either, named
from treadle.link.torch.programs.program import loader, number
from treadle.link.torch.programs.storage import from_native, to_native
from treadle.link.torch.table import Flag
from treadle.link.vm import Program
from treadle.tensor import Scan, TensorNode, tensors

# Steps in one compiled function: fewer if they have so many nodes in all.
AT_ONCE = 16
_NODES = 320
# Steps run operation by operation before a loop that only a condition ends is taken for a long one.
_PATIENCE = 64
# Steps run operation by operation whose rows are stacked together, and the most elements that these may have.
_BLOCK = 64
_BLOCK_ELEMENTS = 2**20


class Step(NamedTuple):
    """A body as one function."""

    # The body's inputs, of which the function takes some.
    inputs: Sequence[Variable]
    # The function.
    generated: GeneratedFunction
    # The number of its nodes.
    nodes: int
    # When it is to be compiled.
    when: When
    # Where forms of functions of its steps are kept, and what tells the body from others.
    forms: ProgramForms
    name: Callable[[], str]


class Block(NamedTuple):
    """What some steps made."""

    # Whether values were found invalid.
    flag: Flag
    # The number of steps made.
    steps: int
    # Whether no condition has ended the loop.
    goes_on: bool
    # The new carries and the stacked rows.
    carries: Sequence[torch.Tensor]
    stacked: Sequence[torch.Tensor]


class StraightSteps:
    """The steps of a body that is one function, several at a time."""

    def __init__(self, op: Scan, step: Step) -> None:
        self._op = op
        generated = step.generated
        at = {v: i for i, v in enumerate(step.inputs)}
        varying = op.n_sequences + op.n_carries
        self._varying = tuple(at[v] for v in generated.tensors if at[v] < varying)
        self._givens = [at[v] - varying for v in generated.tensors if at[v] >= varying]
        self._numbers = [at[v] - varying for v in generated.numbers]
        self._place = place = DEVICES.chosen()
        self._constants = [loader(v, place)(v.data) for v in generated.constants]
        self._run = generated.run
        self._at_once = max(1, min(AT_ONCE, _NODES // max(step.nodes, 1)))
        self._several = self._one = None
        self._ready = False
        self._budget = Budget(generated.operations * self._at_once, step.when)
        self._operation_count = generated.operations
        if step.when is not When.NEVER:
            count = varying + len(self._givens)
            self._one = Compiled(named(self._masked(1)), count, self._forms(step, 1))
            self._several = Compiled(
                named(self._masked(self._at_once)), count, self._forms(step, self._at_once), small=True
            )
        starts = step.inputs[op.n_sequences : varying]
        # Whether carries keep their shapes is seen after a step.
        unknown = any(n is None for v in starts for n in v.type.shape)  # type: ignore[attr-defined]  # tensors
        self._patience = _PATIENCE if op.has_until else int(unknown)

    def _forms(self, step: Step, count: int) -> FunctionForms:
        """Return the forms of the function of a number of steps."""
        op = self._op
        about = (count, op.n_sequences, op.n_carries, op.n_stacked, op.has_until)
        return FunctionForms(step.forms, lambda: f"{about} steps of {step.name()}")

    def prepared(self, givens: Sequence[torch.Tensor]) -> list[Value]:
        """Return the arguments that are the same in all steps."""
        return [*[givens[i] for i in self._givens], *[number(givens[i]) for i in self._numbers], *self._constants]

    def advance(
        self, done: int, count: int, steady: bool, sequences: Sequence[torch.Tensor],
        carries: Sequence[torch.Tensor], fixed: Sequence[Value],
    ) -> Block:  # fmt: skip
        """Make some of the steps that remain of a loop of `count`, of which some are done."""
        remaining = count - done
        rows = [x[done : done + _BLOCK] for x in sequences]
        size = sum([x.numel() for x in carries]) + sum([x[0].numel() for x in rows])
        # A compiled step of more costs more than its call.
        several, most = (self._one, 1) if size > SMALL else (self._several, self._at_once)
        patience = min(self._patience, 1) if size > SMALL else self._patience
        long = most == 1 or count >= 4 * most
        if several is not None and long and steady and done >= patience and remaining >= most and self._is_ready():
            block = self._compiled(several, most, [x[:most] for x in rows], carries, fixed)
            if block is not None:
                return block
        allowed = min(remaining, _BLOCK, max(1, _BLOCK_ELEMENTS // max(size, 1)))
        if several is not None and done < patience:
            allowed = min(allowed, patience - done)
        if long and not self._budget.is_spent:
            self._budget.spend(allowed * self._operation_count, size, allowed / most)
        return self._operations(allowed, rows, carries, fixed)

    def _is_ready(self) -> bool:
        """Whether steps are to be compiled by now."""
        if not self._ready and self._budget.is_spent:
            self._ready = can_compile(self._place)
            if not self._ready:
                self._several = self._one = None
        return self._ready

    def _compiled(
        self, several: Compiled, most: int, rows: Sequence[torch.Tensor], carries: Sequence[torch.Tensor],
        fixed: Sequence[Value],
    ) -> Block | None:  # fmt: skip
        """Run a compiled function of several steps; None if carries changed their shapes where they must not."""
        keeps, flag, alive, steps, *outputs = several(*rows, *carries, *fixed)
        if not keeps:
            return None
        n = self._op.n_carries
        goes_on = alive is None or bool(alive)
        return Block(flag, most if steps is None else int(steps), goes_on, outputs[:n], outputs[n:])  # type: ignore[call-overload]  # a tensor

    def _operations(
        self, most: int, rows: Sequence[torch.Tensor], carries: Sequence[torch.Tensor], fixed: Sequence[Value]
    ) -> Block:
        """Run steps operation by operation, until the condition is met."""
        run, varying, until = self._run, self._varying, self._op.has_until
        n, last = self._op.n_carries, self._op.n_carries + self._op.n_stacked
        lists: list[list[torch.Tensor]] = [[] for _ in range(self._op.n_stacked)]
        flags: Flag = None
        parts = [x.unbind() for x in rows]
        for i in range(most):
            values = (*[x[i] for x in parts], *carries)
            flag, *outputs = run(*[values[j] for j in varying], *fixed)
            flags = either(flags, flag)
            carries = outputs[:n]
            for rows_made, row in zip(lists, outputs[n:last], strict=True):
                rows_made.append(row)
            if until and bool(outputs[-1]):
                return Block(flags, i + 1, False, carries, [torch.stack(x) for x in lists])
        return Block(flags, most, True, carries, [torch.stack(x) for x in lists])

    def _masked(self, count: int) -> Callable[..., list[Any]]:
        """Return the function of a number of steps, to be compiled: those after the last one change nothing."""
        run, varying, until = self._run, self._varying, self._op.has_until
        first, n, last = self._op.n_sequences, self._op.n_carries, self._op.n_carries + self._op.n_stacked
        n_stacked = self._op.n_stacked

        def steps(*args: Any) -> list[Any]:
            parts = [x.unbind() for x in args[:first]]
            carries, fixed = list(args[first : first + n]), args[first + n :]
            lists: list[list[torch.Tensor]] = [[] for _ in range(n_stacked)]
            flags = alive = steps_made = None
            keeps = True
            for i in range(count):
                values = (*[x[i] for x in parts], *carries)
                flag, *outputs = run(*[values[j] for j in varying], *fixed)
                new = outputs[:n]
                if alive is not None:
                    keeps = keeps and all(a.shape == b.shape for a, b in zip(new, carries, strict=True))
                    if not keeps:
                        return [False]
                    new = [torch.where(alive, a, b) for a, b in zip(new, carries, strict=True)]
                    flag = None if flag is None else flag & alive
                    steps_made = alive.to(torch.int64) if steps_made is None else steps_made + alive
                flags = either(flags, flag)
                carries = new
                for rows, row in zip(lists, outputs[n:last], strict=True):
                    rows.append(row)
                if until:
                    alive = ~outputs[-1] if alive is None else alive & ~outputs[-1]
            # The first step is always made.
            total = None if steps_made is None else steps_made + 1
            return [True, flags, alive, total, *carries, *[torch.stack(x) for x in lists]]

        return steps


class CalledSteps:
    """The steps of a body that is a program of its own."""

    def __init__(self, op: Scan, node: TensorNode, program: Program) -> None:
        self._op = op
        self._node = node
        # Of the body; results stay tensors.
        self._program = program
        self._inputs = [v.type.dtype for v in tensors(op.fgraph.inputs)]
        self._outputs = [v.type.dtype for v in tensors(op.fgraph.outputs)]

    def prepared(self, givens: Sequence[torch.Tensor]) -> list[Value]:
        """Return the arguments that are the same in all steps."""
        first = self._op.n_sequences + self._op.n_carries
        return [to_native(x, dtype) for x, dtype in zip(givens, self._inputs[first:], strict=True)]

    def advance(
        self, done: int, count: int, steady: bool, sequences: Sequence[torch.Tensor],
        carries: Sequence[torch.Tensor], fixed: Sequence[Value],
    ) -> Block:  # fmt: skip
        """Make one step."""
        op = self._op
        varying = [*[x[done] for x in sequences], *carries]
        values = [to_native(x, dtype) for x, dtype in zip(varying, self._inputs, strict=False)]
        try:
            results = self._program(*values, *fixed)
        except NodeError as error:
            raise op.in_step(error, self._node, done) from error
        outputs = [from_native(x, dtype) for x, dtype in zip(results, self._outputs, strict=True)]
        n, last = op.n_carries, op.n_carries + op.n_stacked
        goes_on = not (op.has_until and bool(outputs[-1]))
        return Block(None, 1, goes_on, outputs[:n], [x[None] for x in outputs[n:last]])
