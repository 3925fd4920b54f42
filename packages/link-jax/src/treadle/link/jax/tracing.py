"""The function that jax.jit traces: the graph's nodes, run one after another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.config import phase
from treadle.graph import perform_early
from treadle.link.jax.errors import BranchShapeError
from treadle.link.jax.table import Checked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import Apply, Constant, Variable


@dataclass(frozen=True, slots=True)
class Step:
    """One node: a function, and where its values come from and go to.

    Attributes
    ----------
    function
        Takes one value for each input; returns one value, a tuple of them, or a `Checked`.
    inputs, outputs
        The node's variables.
    static
        Positions of the inputs that the function takes as NumPy arrays.
    """

    function: Callable[..., Any]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    static: frozenset[int]


@dataclass(frozen=True, slots=True)
class Arm:
    """One branch of a choice: what runs in it, and which variables it results in."""

    steps: tuple[Step | Choice, ...]
    results: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of which only the branch taken is computed.

    Attributes
    ----------
    node
        The node that chooses.
    arms
        The branch taken where the condition is true, then the other.
    """

    node: Apply
    arms: tuple[Arm, Arm]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A graph ready to be traced.

    Attributes
    ----------
    inputs, outputs, constants
        The graph's variables of these kinds.
    steps
        Its nodes, in order.
    known
        Variables whose values are NumPy arrays during tracing.
    """

    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    constants: tuple[Constant, ...]
    steps: tuple[Step | Choice, ...]
    known: frozenset[Variable]

    @property
    def by_value(self) -> tuple[int, ...]:
        """Positions of the inputs whose values decide shapes: there is one compiled form for each of their values."""
        return tuple(i for i, v in enumerate(self.inputs) if v in self.known)

    @property
    def arguments(self) -> tuple[Constant, ...]:
        """The constants that are arguments of the compiled code."""
        return tuple(c for c in self.constants if c not in self.known)

    def traceable(self, values: Mapping[Variable, Any]) -> Callable[..., Any]:
        """Return the function to compile.

        Parameters
        ----------
        values
            NumPy arrays of the inputs taken by value.

        Returns
        -------
        A function of the other inputs and the `arguments`. It returns a tuple of the outputs, and a flag that is set
        if values were invalid, or None if that cannot be.
        """
        fixed: dict[Variable, Any] = {c: c.data for c in self.constants if c in self.known}
        fixed.update(values)
        free = [v for v in self.inputs if v not in self.known] + list(self.arguments)

        def run(*args: Any) -> tuple[tuple[Any, ...], Any]:
            made = dict(fixed)
            made.update(zip(free, args, strict=True))
            failures: list[Any] = []
            with phase("code generation"):
                _run(self.steps, made, failures)
            outputs = tuple(_own(made[v], args) for v in self.outputs)
            return outputs, reduce(jnp.logical_or, failures) if failures else None

        return run


def _run(steps: Sequence[Step | Choice], made: dict[Variable, Any], failures: list[Any]) -> None:
    for step in steps:
        if isinstance(step, Choice):
            _run_choice(step, made, failures)
        else:
            _run_step(step, made, failures)


def _run_choice(step: Choice, made: dict[Variable, Any], failures: list[Any]) -> None:
    """Trace both branches as functions of ``lax.cond``; one alone where the condition is known already."""
    condition = made[step.node.inputs[0]]
    if isinstance(condition, np.ndarray | np.generic | bool):
        arm = step.arms[0 if condition else 1]
        _run(arm.steps, made, failures)
        made.update(zip(step.node.outputs, (made[v] for v in arm.results), strict=True))
        return
    kinds: list[Any] = [v.type for v in step.node.outputs]
    checked: list[Any] = []

    def traced(arm: Arm) -> Callable[[], tuple[Any, ...]]:
        def run() -> tuple[Any, ...]:
            own: list[Any] = []
            # No other branch knows the variables that are made here.
            _run(arm.steps, made, own)
            checked.extend(own)
            flag = reduce(jnp.logical_or, own) if own else jnp.asarray(False)
            values = (jnp.asarray(made[v], dtype=t.numpy_dtype) for v, t in zip(arm.results, kinds, strict=True))
            return (flag, *values)

        return run

    flag, *values = _cond(step.node, jnp.asarray(condition) != 0, traced(step.arms[0]), traced(step.arms[1]))
    if checked:
        failures.append(flag)
    made.update(zip(step.node.outputs, values, strict=True))


def _cond(node: Apply, condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    shapes: list[Any] = []

    def noted(arm: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            values = arm()
            shapes.append([x.shape for x in values])
            return values

        return run

    try:
        return lax.cond(condition, noted(first), noted(second))
    except TypeError as error:
        if len(shapes) != 2 or shapes[0] == shapes[1]:
            raise
        msg = (
            f"{node.op}: the branches have the shapes {shapes[0][1:]} and {shapes[1][1:]}, and XLA needs one"
            f"{node.where()}. Give both branches the same shapes, or pick another mode."
        )
        raise BranchShapeError(msg) from error


def _run_step(step: Step, made: dict[Variable, Any], failures: list[Any]) -> None:
    args = [made[v] if at in step.static else jnp.asarray(made[v]) for at, v in enumerate(step.inputs)]
    result = step.function(*args)
    if isinstance(result, Checked):
        failures.append(result.failed)
        result = result.value
    values: Sequence[Any] = result if isinstance(result, tuple) else (result,)
    made.update(zip(step.outputs, values, strict=True))


def _own(value: Any, args: Sequence[Any]) -> Any:
    """Return an output as an array of its own: JAX would hand an argument through, memory and all."""
    array = jnp.asarray(value)
    return jnp.array(array, copy=True) if any(array is x for x in args) else array


def on_host(node: Apply) -> Callable[..., Any]:
    """Return a function that computes a node with NumPy while the graph is traced."""

    def run(*values: Any) -> Any:
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        perform_early(node, [np.asarray(x) for x in values], cells)
        return tuple(cell[0] for cell in cells)

    return run
