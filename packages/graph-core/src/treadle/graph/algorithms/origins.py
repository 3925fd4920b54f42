"""What an expression was written with, beyond what it is computed from.

The gradient of ``a * b`` with respect to ``a`` is ``b``, but it was written with ``a``. Functions whose results leave
out an argument note it in the results' ``written_with``. Only the search for unused inputs reads these notes: building,
rewriting and running never do. Only a new variable has a note, so that it tells of one use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph.algorithms.traversal import walk
from treadle.graph.ir.variable import Variable, has_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


def origins(variables: Iterable[Variable], blockers: Collection[Variable] = ()) -> list[Variable]:
    """Return all that variables are computed from or were written with, not going beyond the blockers.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> origins([tt.exp(x) + y])
    [Add.out, y, Exp.out, x]
    """

    def expand(var: Variable) -> Iterable[Variable]:
        if var in blockers:
            return ()
        return var.written_with if var.owner is None else (*var.owner.inputs, *var.written_with)

    return list(walk(variables, expand, bfs=False))


def named_inputs(sources: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """Return the possible inputs of a function among all that expressions were written with."""
    return tuple(filter(_is_input, origins(sources))) if sources else ()


def _is_input(var: Variable) -> bool:
    return var.owner is None and not has_value(var)


def was_written_with(var: Variable, variables: Collection[Variable]) -> bool:
    """Whether a variable has a note that leads to one of some variables."""
    return bool(var.written_with) and any(source in variables for source in origins(var.written_with))


def carry_origins(copies: Iterable[tuple[Variable, Variable]], replaced: Mapping[Variable, Variable]) -> None:
    """Carry the notes of variables over to their copies, given as pairs; `replaced` maps variables to replacements."""
    moved: dict[tuple[Variable, ...], tuple[Variable, ...]] = {}
    for old, new in copies:
        sources = old.written_with
        if sources and new is not old:
            if sources not in moved:
                moved[sources] = _replaced(sources, replaced)
            new.written_with = moved[sources]


def _replaced(sources: tuple[Variable, ...], replaced: Mapping[Variable, Variable]) -> tuple[Variable, ...]:
    """Return sources with variables replaced; the same tuple where nothing is."""
    reached = origins(sources, replaced)
    if not any(var in replaced for var in reached):
        return sources
    return tuple(dict.fromkeys(replaced.get(var, var) for var in reached if var in replaced or _is_input(var)))
