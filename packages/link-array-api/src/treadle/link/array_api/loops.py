"""Loops: Python leads through the steps, each the program of the body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant, FunctionGraph, NodeError, Value
from treadle.link.array_api.libraries import library
from treadle.link.array_api.program import ArrayProgram, explained
from treadle.link.array_api.table import Array
from treadle.tensor import LoopInputs, Scan, TensorNode

if TYPE_CHECKING:
    from treadle.link.array_api.linker import ArrayAPILinker


class Loop:
    """A loop as a function of its node's inputs."""

    def __init__(self, op: Scan, node: TensorNode) -> None:
        self._op = op
        self._node = node
        self._lib = library()

    def link(self, linker: ArrayAPILinker) -> None:
        """Link the body; the loop can be called then."""
        body = self._op.fgraph.unfreeze()
        self._body = linker.link(body, frozenset(range(len(body.outputs))))

    def __call__(self, *values: Array) -> Value:
        """Run the loop; the error of a step that fails names the op and the user's line."""
        try:
            results = self._computed(int(values[0]), self._op.sorted(values[1:]))
        except NodeError:
            raise
        except Exception as error:
            pairs = zip(self._node.inputs, values, strict=True)
            given = [x for v, x in pairs if not isinstance(v, Constant)]
            raise explained(self._alone(), given, error, self._lib) from error
        return results[0] if len(results) == 1 else tuple(results)

    def _alone(self) -> FunctionGraph:
        """Return the loop as a graph of its own."""
        node = self._node
        return FunctionGraph([v for v in node.inputs if not isinstance(v, Constant)], node.outputs, clone=True)

    def _computed(self, count: int, arguments: LoopInputs) -> list[Array]:
        op, xp = self._op, self._lib.xp
        op.check_lengths(count, [np.broadcast_to(0, x.shape[:1]) for x in arguments.sequences])
        n, last = op.n_carries, op.n_carries + op.n_stacked
        carries: Sequence[Array] = arguments.carries
        stacked: list[list[Array]] = [[] for _ in range(op.n_stacked)]
        done = 0
        while done < count:
            outputs = self._step(done, [x[done, ...] for x in arguments.sequences], carries, arguments.constants)
            carries = outputs[:n]
            for rows, row in zip(stacked, outputs[n:last], strict=True):
                if rows and rows[0].shape != row.shape:
                    msg = "a result has rows of different shapes"
                    raise ValueError(msg)
                rows.append(row)
            done += 1
            if op.has_until and bool(outputs[-1]):
                break
        results = [*carries, *([xp.stack(rows) for rows in stacked] if done else self._empty(arguments))]
        return [*results, self._lib.full((), done, "int64")] if op.has_until else results

    def _step(
        self, at: int, rows: Sequence[Array], carries: Sequence[Array], constants: Sequence[Array]
    ) -> Sequence[Array]:
        """Return what one step computes."""
        body, values = self._body, (*rows, *carries, *constants)
        try:
            # Nobody writes into what a step makes, so that it may be handed on as it is.
            return body.computed(values) if isinstance(body, ArrayProgram) else body(*values)
        except NodeError as error:
            raise self._op.in_step(error, self._node, at) from error

    def _empty(self, arguments: LoopInputs) -> list[Array]:
        """Return the results of no steps."""
        lib = self._lib
        host = LoopInputs(*([lib.to_host(x) for x in group] for group in arguments))
        return [lib.asarray(x) for x in self._op.empty_results(host)]
