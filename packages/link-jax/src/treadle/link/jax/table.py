"""The table of lowerings to JAX, and what a lowering may take and return."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np

from treadle.config import dataclass
from treadle.graph import LoweringTable

if TYPE_CHECKING:
    import jax

# What stands for a value while a graph is traced: a NumPy array where it is known already.
Array: TypeAlias = "jax.Array | np.ndarray"
Results: TypeAlias = "Array | tuple[Array, ...]"
# What a rule makes of a node.
Function: TypeAlias = "Callable[..., Results | Checked[Results]]"
Lowered: TypeAlias = "Function | TakesAssumed"
# A boolean scalar that says whether values are invalid; None if they cannot be.
Flag: TypeAlias = "jax.Array | None"

V_co = TypeVar("V_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Limit:
    """What integers must be for results to be valid.

    Parameters
    ----------
    value
        The integers, an array of any shape.
    least
        The smallest that is valid.
    end
        The smallest above all valid ones.
    """

    value: jax.Array
    least: int
    end: int


@dataclass(frozen=True, slots=True)
class Checked(Generic[V_co]):
    """What a lowering returns where values can be invalid: the results, and whether they are.

    Compiled code cannot raise. The program looks at the flag after the call, and if it is set runs the graph again
    in Python, which raises the error.

    Parameters
    ----------
    value
        The result, or a tuple of results.
    failed
        A boolean scalar array; None if values cannot be invalid.
    assumptions
        What the lowering took from `Assumed` inputs: pairs of the number it assumed and the number it is.
    limits
        Integers that make values invalid too where they are outside of limits. Of arguments of the program, the caller
        looks at these before it calls compiled code; it then needs no flag, which it would wait for.
    """

    value: V_co
    failed: Flag
    assumptions: tuple[tuple[Array, Array], ...] = ()
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True)
class Assumed:
    """An input that decides a shape, as lowerings in `TakesAssumed` get it where its value may change between calls.

    Parameters
    ----------
    value
        What it was in the call that the code is compiled for, a NumPy array.
    actual
        What it is in the call at hand, a JAX array.
    """

    value: np.ndarray
    actual: jax.Array


@dataclass(frozen=True, slots=True)
class TakesAssumed:
    """A lowered function that takes inputs that decide shapes as `Assumed` too, and says what it assumed.

    The same compiled code then serves all calls of which the assumptions hold.

    Parameters
    ----------
    run
        The function.
    static
        Positions of the inputs that decide shapes, where these are others than the op's ``static_inputs``.
    where_known
        Positions of inputs that are taken as NumPy arrays too where they follow from shapes alone.
    keeping
        For what writes into its first argument: a function like `run`, of a flag before the arguments. Nothing is
        written where that is set.
    """

    run: Function
    static: tuple[int, ...] | None = None
    where_known: tuple[int, ...] = ()
    keeping: Function | None = None


def _load() -> None:
    from treadle.tensor import load_families

    load_families("treadle.link.jax.lower")


# A rule ``rule(op, node)`` returns a function from JAX arrays to one, or to a tuple of them, which ``jax.jit`` traces.
# The inputs at the op's ``static_inputs`` come as NumPy arrays, all others as JAX arrays; it may return NumPy arrays
# for what the shapes of its inputs alone decide, and a `Checked`.
JAX = LoweringTable("jax", _load)
