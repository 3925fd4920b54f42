"""Loops on the VM: a generated function with the loop, which calls the generated function of a step."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treadle.config import config
from treadle.graph import Constant, IfElse, NodeError, memory_roots
from treadle.link.vm import TABLE, VMProgram, generate, lower_node, sharing_outputs
from treadle.tensor.elementwise.composite import Composite
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.loops.loops import Scan
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from treadle.graph import Apply, Compute, Value, Variable
    from treadle.tensor.elementwise.scalar_op import ScalarOp

# Operators that do for NumPy's numbers, which are quicker than arrays of rank 0, what the functions do for arrays.
_OPERATORS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "true_div": "{0} / {1}", "neg": "-{0}",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}", "eq": "{0} == {1}",
    "neq": "{0} != {1}", "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}", "invert": "~{0}",
}  # fmt: skip
# Rows that there is memory for at first, where a condition may end the loop before all are made.
_ROWS = 64
_NUMBER = itertools.count()


@TABLE.register(Scan)
def lower(op: Scan, node: Apply) -> Callable[..., object]:
    """Return the loop's function."""
    loop = _Loop(op, node)
    scope: dict[str, Any] = {
        "loop": loop, "step": loop.program.listing.run, "number": np.array, "LENGTH": LENGTH,
    }  # fmt: skip
    exec(compile(_source(op, loop.copied), f"<treadle vm loop {next(_NUMBER)}>", "exec"), scope)
    run: Callable[..., object] = scope["run"]
    return run


class _Loop:
    """What the function of a loop calls rarely, or once for each call.

    `copied` has the positions of carries that may share memory with what the loop was given, or with each other.
    """

    def __init__(self, op: Scan, node: Apply) -> None:
        self.op = op
        self.node = node
        body = op.fgraph.unfreeze()
        order = body.toposort()
        numeric = {n: scalar for n in order if (scalar := _of_numbers(n)) is not None}
        calls = {n: numeric[n].impl if n in numeric else _of_arrays(n) for n in order}
        texts = {n: _OPERATORS[scalar.name] for n, scalar in numeric.items() if scalar.name in _OPERATORS}
        listing = generate(body, calls, free=True, lazy=config.vm__lazy, shares=True, texts=texts)
        scope = listing.run.__globals__
        for var, name in listing.names.items():
            if isinstance(var, Constant) and _is_number(var):
                scope[name] = var.data[()]
        self.program = VMProgram(body, listing)
        self.copied = [k for k in sharing_outputs(body, memory_roots(order)) if k < op.n_carries]
        self._dtypes = [row.type.numpy_dtype for row in tensors(op.rows)]

    def nothing(self, *arguments: Value) -> Value:
        """Return the results of no steps."""
        op = self.op
        inputs = op.sorted(arguments)
        carries = [x.type.copy_value(value) for x, value in zip(op.inner.carries, inputs.carries, strict=True)]
        results = (*carries, *op.empty_results(inputs), *([np.asarray(0, LENGTH)] if op.has_until else []))
        return results[0] if len(results) == 1 else results

    def stack(self, at: int, row: NDArray[Any], count: int) -> NDArray[Any]:
        """Return memory for a number of rows, with the first one in it."""
        memory: NDArray[Any] = np.empty((count, *row.shape), self._dtypes[at])
        memory[0] = row
        return memory

    @staticmethod
    def grown(rows: NDArray[Any], count: int) -> NDArray[Any]:
        """Return memory for more rows, with those that there are."""
        memory: NDArray[Any] = np.empty((count, *rows.shape[1:]), rows.dtype)
        memory[: len(rows)] = rows
        return memory

    def copy(self, at: int, value: Value) -> Value:
        """Return a copy of the last value of a carry."""
        return self.op.inner.carries[at].type.copy_value(value)

    @staticmethod
    def cut(rows: NDArray[Any], count: int) -> NDArray[Any]:
        """Return the first rows, without memory for more."""
        return rows if len(rows) == count else rows[:count].copy()

    @staticmethod
    def differ(step: int, row: NDArray[Any], rows: NDArray[Any]) -> NoReturn:
        """Refuse rows of several shapes in one result."""
        msg = f"a result has a row of shape {row.shape} in step {step}, and of {rows.shape[1:]} in step 0"
        raise ValueError(msg)

    def told(self, error: Exception, step: int) -> Exception:
        """Return an error with the node of the body and the step that it happened in."""
        explained = self.program.explained(error)
        return self.op.in_step(explained, self.node, step) if isinstance(explained, NodeError) else explained


def _is_number(var: Variable) -> bool:
    return isinstance(var.type, TensorType) and not var.type.ndim


def _of_numbers(node: Apply) -> ScalarOp | None:
    """Return what a node computes of numbers, where that is one of NumPy's own functions; else None."""
    op = node.op
    if not isinstance(op, Elemwise) or isinstance(op.scalar_op, Composite) or not _is_number(node.outputs[0]):
        return None
    kinds = tuple(v.type.numpy_dtype for v in tensors(node.inputs))
    scalar = op.scalar_op
    return None if scalar.ufunc is None or scalar.name == "identity" or kinds != tuple(op.loop_dtypes(node)) else scalar


def _of_arrays(node: Apply) -> Compute:
    """Return the function of a node that takes arrays, given numbers in place of those of rank 0."""
    function = lower_node(node)
    places = [i for i, v in enumerate(node.inputs) if _is_number(v)]
    if not places or isinstance(node.op, IfElse):
        return function

    def run(*values: Value) -> Value:
        arguments = list(values)
        for i in places:
            arguments[i] = np.asarray(arguments[i])
        return function(*arguments)

    return run


def _source(op: Scan, copied: Sequence[int]) -> str:
    """Return the text of a loop's function: the first step, which tells the lengths of rows, then the others."""
    sequences = [f"x{k}" for k in range(op.n_sequences)]
    carries = [f"c{k}" for k in range(op.n_carries)]
    constants = [f"k{k}" for k in range(len(op.fgraph.inputs) - op.n_sequences - op.n_carries)]
    stacks = [f"y{k}" for k in range(op.n_stacked)]
    rows = [f"r{k}" for k in range(op.n_stacked)]
    indexed_rows = [f"{x}[{{}}]" for x in sequences]
    inner = op.inner
    numbers = [
        name
        for name, v in zip((*carries, *constants), (*inner.carries, *inner.constants), strict=True)
        if _is_number(v)
    ]
    single = [name for name in carries if name in numbers]
    targets = [*carries, *rows, *(["ends"] if op.has_until else [])]
    call = f"{_tuple(targets)} = step({', '.join([*indexed_rows, *carries, *constants])})" if targets else "pass"
    length = f"min(count, {_ROWS})" if op.has_until else "count"
    inputs = ", ".join([*sequences, *carries, *constants])
    lines = [
        f"def run({', '.join(['n', *sequences, *carries, *constants])}):",
        "    count = int(n)",
        f"    if count < 1{''.join(f' or len({x}) < count' for x in sequences)}:",
        f"        loop.op.check_lengths(count, ({''.join(f'{x}, ' for x in sequences)}))",
        f"        return loop.nothing({inputs})",
        *(f"    {name} = {name}[()]" for name in numbers),
        "    i = 0",
        "    try:",
        f"        {call.format(*['0'] * len(indexed_rows))}",
    ]
    if op.has_until and stacks:
        lines += [f"        room = {length}"]
        length = "room"
    lines += [f"        {y} = loop.stack({k}, {rows[k]}, {length})" for k, y in enumerate(stacks)]
    step = ["for i in range(1, count):", f"    {call.format(*['i'] * len(indexed_rows))}"]
    if op.has_until and stacks:
        step += ["    if i == room:", "        room = min(2 * room, count)"]
        step += [f"        {y} = loop.grown({y}, room)" for y in stacks]
    for row, y, kind in zip(rows, stacks, tensors(op.rows), strict=True):
        if None in kind.type.shape:
            step += [f"    if {row}.shape != {y}.shape[1:]:", f"        loop.differ(i, {row}, {y})"]
        step.append(f"    {y}[i] = {row}")
    if op.has_until:
        step += ["    if ends:", "        break"]
        step = ["if not ends:", *(f"    {line}" for line in step)]
    lines += [f"        {line}" for line in step]
    lines += ["    except Exception as error:", "        raise loop.told(error, i) from error"]
    lines += [f"    c{k} = loop.copy({k}, c{k})" for k in copied if carries[k] not in single]
    lines += [f"    {name} = number({name})" for name in single]
    results = [*carries, *(f"loop.cut({y}, i + 1)" for y in stacks)] if op.has_until else [*carries, *stacks]
    results += ["number(i + 1, LENGTH)"] if op.has_until else []
    lines.append(f"    return {results[0] if len(results) == 1 else _tuple(results)}")
    return "\n".join(lines) + "\n"


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)},)"
