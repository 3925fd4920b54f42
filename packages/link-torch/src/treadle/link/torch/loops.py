"""Loops: Python leads through the steps, of which several make one compiled function.

Measured with PyTorch 2.13 on a CPU, in microseconds a step, of a few numbers / of a recurrent network of 64 units with
its gradient:

* operation by operation: 14 / 21;
* a compiled step, called from Python: 28 / 125, most of it the call;
* ``torch._higher_order_ops.scan`` inside one compiled function: 5 / 17;
* 16 steps compiled as one function: 2 / 7, and compiled in the time that ``scan`` takes.

``scan`` moreover takes no condition, no loop without carries and no carries that change their shapes; ``while_loop``
copies a whole stacked result for each row. So neither is used, and

* where tensors are small, a long loop calls a function of `AT_ONCE` steps. The steps that remain run operation by
  operation, and so do all steps of loops that are not worth a compilation, of fewer than four times as many;
* where tensors are large, a loop calls a compiled function of one step;
* a step with choices or loops inside, with Python steps, or with lengths that change from step to step, is a program of
  its own, called for each.

A condition is looked at after each step; in a function of several steps, those after the last one change nothing.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch

from treadle.graph import Constant, FunctionGraph, NodeError
from treadle.link.torch.compilation import PROCESS, SMALL, Compiled
from treadle.link.torch.device import device
from treadle.link.torch.generation import either, named
from treadle.link.torch.program import explained, invalid, loader, no_grad, number, owned
from treadle.link.torch.storage import from_host, from_native, to_host, to_native
from treadle.tensor import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Value, Variable
    from treadle.link.torch.generation import GeneratedFunction
    from treadle.link.torch.table import Flag
    from treadle.link.vm import Program
    from treadle.tensor import LoopInputs, Scan, TensorNode

    class StepLinker(Protocol):
        """What links the bodies of loops."""

        def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int]) -> Program:
            """Return a program for a body."""

        def link_step(self, fgraph: FunctionGraph, varying: int) -> Step | None:
            """Return a body as one function; None if it is none, or if lengths depend on the first inputs' values."""


# Steps in one compiled function: fewer if they have so many nodes in all.
AT_ONCE = 16
_NODES = 320
# Steps run operation by operation before a loop that only a condition ends is taken for a long one.
_PATIENCE = 64
# Steps run operation by operation whose rows are stacked together, and the most elements that these may have.
_BLOCK = 64
_BLOCK_ELEMENTS = 2**20


class Step(NamedTuple):
    """A body as one function.

    Attributes
    ----------
    inputs
        The body's inputs, of which the function takes some.
    generated
        The function.
    nodes
        The number of its nodes.
    compiles
        Whether it is to be compiled.
    """

    inputs: Sequence[Variable]
    generated: GeneratedFunction
    nodes: int
    compiles: bool


class _Block(NamedTuple):
    """What some steps made.

    Attributes
    ----------
    flag
        Whether values were found invalid.
    steps
        The number of steps made.
    goes_on
        Whether no condition has ended the loop.
    carries, stacked
        The new carries and the stacked rows.
    """

    flag: Flag
    steps: int
    goes_on: bool
    carries: Sequence[torch.Tensor]
    stacked: Sequence[torch.Tensor]


class _Stretch:
    """The steps of a body that is one function.

    Parameters
    ----------
    op
        The loop.
    step
        Its body.
    """

    def __init__(self, op: Scan, step: Step) -> None:
        self._op = op
        generated = step.generated
        at = {v: i for i, v in enumerate(step.inputs)}
        varying = op.n_sequences + op.n_carries
        self._taken = tuple(at[v] for v in generated.tensors if at[v] < varying)
        self._givens = [at[v] - varying for v in generated.tensors if at[v] >= varying]
        self._numbers = [at[v] - varying for v in generated.numbers]
        place = device()
        self._constants = [loader(v, place)(v.data) for v in generated.constants]
        self._run = generated.run
        self._at_once = max(1, min(AT_ONCE, _NODES // max(step.nodes, 1)))
        self._several = self._one = None
        if step.compiles:
            count = varying + len(self._givens)
            self._one = Compiled(named(self._masked(1)), count)
            self._several = Compiled(named(self._masked(self._at_once)), count, small=True)
        starts = step.inputs[op.n_sequences : varying]
        # Whether carries keep their shapes is seen after a step.
        unknown = any(n is None for v in starts for n in v.type.shape)  # type: ignore[attr-defined]  # tensors
        self._patience = _PATIENCE if op.has_until else int(unknown)

    def prepared(self, givens: Sequence[torch.Tensor]) -> list[Value]:
        """Return the arguments that are the same in all steps."""
        return [*[givens[i] for i in self._givens], *[number(givens[i]) for i in self._numbers], *self._constants]

    def advance(
        self, done: int, count: int, steady: bool, sequences: Sequence[torch.Tensor],
        carries: Sequence[torch.Tensor], rest: Sequence[Value],
    ) -> _Block:  # fmt: skip
        """Make some of the steps that remain of a loop of `count`, of which some are done."""
        remaining = count - done
        rows = [x[done : done + _BLOCK] for x in sequences]
        size = sum([x.numel() for x in carries]) + sum([x[0].numel() for x in rows])
        # A compiled step of more costs more than its call.
        several, most = (self._one, 1) if size > SMALL else (self._several, self._at_once)
        patience = min(self._patience, 1) if size > SMALL else self._patience
        long = most == 1 or count >= 4 * most
        if several is not None and long and steady and done >= patience and remaining >= most:
            found = self._compiled(several, most, [x[:most] for x in rows], carries, rest)
            if found is not None:
                return found
        allowed = min(remaining, _BLOCK, max(1, _BLOCK_ELEMENTS // max(size, 1)))
        if several is not None and done < patience:
            allowed = min(allowed, patience - done)
        return self._operations(allowed, rows, carries, rest)

    def _compiled(
        self, several: Compiled, most: int, rows: Sequence[torch.Tensor], carries: Sequence[torch.Tensor],
        rest: Sequence[Value],
    ) -> _Block | None:  # fmt: skip
        """Run a compiled function of several steps; None if carries changed their shapes where they must not."""
        keeps, flag, alive, steps, *made = several(*rows, *carries, *rest)
        if not keeps:
            return None
        n = self._op.n_carries
        goes_on = alive is None or bool(alive)
        return _Block(flag, most if steps is None else int(steps), goes_on, made[:n], made[n:])  # type: ignore[call-overload]  # a tensor

    def _operations(
        self, most: int, rows: Sequence[torch.Tensor], carries: Sequence[torch.Tensor], rest: Sequence[Value]
    ) -> _Block:
        """Run steps operation by operation, until the condition is met."""
        run, taken, until = self._run, self._taken, self._op.has_until
        n, last = self._op.n_carries, self._op.n_carries + self._op.n_stacked
        lists: list[list[torch.Tensor]] = [[] for _ in range(self._op.n_stacked)]
        flags: Flag = None
        parts = [x.unbind() for x in rows]
        for i in range(most):
            values = (*[x[i] for x in parts], *carries)
            flag, *made = run(*[values[j] for j in taken], *rest)
            flags = either(flags, flag)
            carries = made[:n]
            for rows_made, row in zip(lists, made[n:last], strict=True):
                rows_made.append(row)
            if until and bool(made[-1]):
                return _Block(flags, i + 1, False, carries, [torch.stack(x) for x in lists])
        return _Block(flags, most, True, carries, [torch.stack(x) for x in lists])

    def _masked(self, count: int) -> Callable[..., list[Any]]:
        """Return the function of a number of steps, to be compiled: those after the last one change nothing."""
        run, taken, until = self._run, self._taken, self._op.has_until
        first, n, last = self._op.n_sequences, self._op.n_carries, self._op.n_carries + self._op.n_stacked
        n_stacked = self._op.n_stacked

        def steps(*args: Any) -> list[Any]:
            parts = [x.unbind() for x in args[:first]]
            carries, rest = list(args[first : first + n]), args[first + n :]
            lists: list[list[torch.Tensor]] = [[] for _ in range(n_stacked)]
            flags = alive = done = None
            keeps = True
            for i in range(count):
                values = (*[x[i] for x in parts], *carries)
                flag, *made = run(*[values[j] for j in taken], *rest)
                new = made[:n]
                if alive is not None:
                    keeps = keeps and all(a.shape == b.shape for a, b in zip(new, carries, strict=True))
                    if not keeps:
                        return [False]
                    new = [torch.where(alive, a, b) for a, b in zip(new, carries, strict=True)]
                    flag = None if flag is None else flag & alive
                    done = alive.to(torch.int64) if done is None else done + alive
                flags = either(flags, flag)
                carries = new
                for rows, row in zip(lists, made[n:last], strict=True):
                    rows.append(row)
                if until:
                    alive = ~made[-1] if alive is None else alive & ~made[-1]
            # The first step is always made.
            total = None if done is None else done + 1
            return [True, flags, alive, total, *carries, *[torch.stack(x) for x in lists]]

        return steps


class _Called:
    """The steps of a body that is a program of its own.

    Parameters
    ----------
    op
        The loop.
    node
        Its node.
    program
        Of the body; results stay tensors.
    """

    def __init__(self, op: Scan, node: TensorNode, program: Program) -> None:
        self._op = op
        self._node = node
        self._program = program
        self._inputs = [v.type.dtype for v in tensors(op.fgraph.inputs)]
        self._outputs = [v.type.dtype for v in tensors(op.fgraph.outputs)]

    def prepared(self, givens: Sequence[torch.Tensor]) -> list[Value]:
        """Return the arguments that are the same in all steps."""
        first = self._op.n_sequences + self._op.n_carries
        return [to_native(x, dtype) for x, dtype in zip(givens, self._inputs[first:], strict=True)]

    def advance(
        self, done: int, count: int, steady: bool, sequences: Sequence[torch.Tensor],
        carries: Sequence[torch.Tensor], rest: Sequence[Value],
    ) -> _Block:  # fmt: skip
        """Make one step."""
        del count, steady
        op = self._op
        varying = [*[x[done] for x in sequences], *carries]
        values = [to_native(x, dtype) for x, dtype in zip(varying, self._inputs, strict=False)]
        try:
            found = self._program(*values, *rest)
        except NodeError as error:
            raise op.in_step(error, self._node, done) from error
        made = [from_native(x, dtype) for x, dtype in zip(found, self._outputs, strict=True)]
        n, last = op.n_carries, op.n_carries + op.n_stacked
        goes_on = not (op.has_until and bool(made[-1]))
        return _Block(None, 1, goes_on, made[:n], [x[None] for x in made[n:last]])


class _Results:
    """The stacked results, written in the place of all rows where their number is known.

    Parameters
    ----------
    count
        The number of rows, None if it is not known.
    """

    def __init__(self, count: int | None) -> None:
        self._count = count
        self._whole: list[torch.Tensor] = []
        self._parts: list[Sequence[torch.Tensor]] = []
        self._done = 0

    def add(self, rows: Sequence[torch.Tensor]) -> None:
        """Add rows of each result.

        Raises
        ------
        ValueError
            If they have other shapes than those before.
        """
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
        for whole, part in zip(self._whole, rows, strict=True):
            whole[self._done : self._done + steps].copy_(part)
        self._done += steps

    def get(self) -> list[torch.Tensor]:
        """Return the results."""
        if self._whole:
            return self._whole
        return [torch.cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*self._parts, strict=True)]


class Loop:
    """A loop as a function of its node's inputs: NumPy arrays or tensors in, tensors of the dtypes themselves out.

    Parameters
    ----------
    op
        The loop.
    node
        Its node.
    """

    def __init__(self, op: Scan, node: TensorNode) -> None:
        self._op = op
        self._node = node

    def link(self, linker: StepLinker) -> None:
        """Link the body; the loop can be called then."""
        op = self._op
        self._place = place = device()
        body = op.fgraph.unfreeze()
        step = linker.link_step(body, op.n_sequences + op.n_carries)
        self._steps: _Stretch | _Called
        if step is None:
            self._steps = _Called(op, self._node, linker.link(body, frozenset(range(len(body.outputs)))))
        else:
            self._steps = _Stretch(op, step)
        self._load = [loader(v, place) for v in self._node.inputs[1:]]
        self._constants = {
            i: load(v.data)
            for i, (v, load) in enumerate(zip(self._node.inputs[1:], self._load, strict=True))
            if isinstance(v, Constant)
        }
        self._outputs = [(v.type.dtype, True) for v in self._node.outputs]

    def __call__(self, *values: Value) -> Value:
        """Run the loop.

        Raises
        ------
        NodeError
            If a step fails, or the number of steps does not fit: it names the op and the user's line.
        ForkedProcessError
            In a process forked from one where PyTorch had run.
        """
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
        given = op.sorted(tensors)
        if count < 0 or any(len(x) < count for x in given.sequences):
            msg = "the number of steps does not fit"
            raise ValueError(msg)
        if count == 0:
            results, done = [*given.carries, *self._nothing(given)], 0
        else:
            found = self._looped(count, given)
            if found is None:
                return None
            results, done = found
        if op.has_until:
            results.append(torch.tensor(done, device=self._place))
        return owned(self._outputs, results, tensors)

    def _looped(self, count: int, given: LoopInputs) -> tuple[list[torch.Tensor], int] | None:
        """Return what at least one step makes, and the number of steps; None if values were found invalid."""
        op, steps = self._op, self._steps
        carries: Sequence[torch.Tensor] = given.carries
        rest = steps.prepared(given.constants)
        stacked = _Results(None if op.has_until else count)
        flags: Flag = None
        done, steady, goes_on = 0, True, True
        while goes_on and done < count:
            block = steps.advance(done, count, steady, given.sequences, carries, rest)
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

    def _nothing(self, given: LoopInputs) -> list[torch.Tensor]:
        """Return the stacked results of a loop of no steps."""
        given = given._replace(sequences=[x[:0] for x in given.sequences])
        host = [
            to_host(x.cpu(), v.type.dtype) for v, x in zip(self._node.inputs[1:], itertools.chain(*given), strict=True)
        ]
        return [from_host(x, x.dtype.name).to(self._place) for x in self._op.empty_results(self._op.sorted(host))]
