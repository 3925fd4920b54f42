"""What `function` replaces: variables (givens), and the values of shared variables (updates)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import FunctionTypeError, FunctionValueError
from treadle.config import text_of
from treadle.graph import CONVERTERS, SharedVariable, Variable, ancestors, reading_order

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from treadle.compile.io import In
    from treadle.graph import Container

Updates = dict[SharedVariable, Variable]


def pairs(what: str, changes: object) -> list[tuple[Any, Any]]:
    """Return updates or givens, a mapping or an iterable of pairs, as a list of pairs."""
    if changes is None:
        return []
    items = changes.items() if isinstance(changes, Mapping) else changes
    # A variable can be indexed without end, and a string of two letters is not a pair.
    if isinstance(items, Iterable) and not isinstance(items, str | bytes | Variable):
        listed = list(items)
        if all(isinstance(p, tuple | list) and len(p) == 2 for p in listed):
            return [(a, b) for a, b in listed]
    msg = f"function: {what} must be a dict or a list of pairs, got {text_of(changes)}. Write [(variable, new), ...]."
    raise FunctionTypeError(msg)


def _shown(new: object) -> str:
    """Return an expression with its type and where it was built."""
    if not isinstance(new, Variable):
        return text_of(new)
    where = f", built at {new.user_line}" if new.user_line is not None else ""
    return f"{new} of type {new.type}{where}"


def _checked_replacement(old: Variable, new: object, strict: bool) -> Variable:
    if not strict:
        return new if isinstance(new, Variable) else CONVERTERS.type_of(new).make_constant(new)
    try:
        # Whether the types agree is what `rebuild_strict` is about: what is less precise is checked when the program
        # runs, but no variable is converted on the way.
        return old.type.filter_variable(new, allow_convert=isinstance(new, Variable) and new.type.is_super(old.type))
    except TypeError as error:
        msg = (
            f"function: givens replace {old} by something of its type {old.type}, got {_shown(new)}. Convert it, or "
            "pass rebuild_strict=False to have the expressions built anew for the other type."
        )
        raise FunctionTypeError(msg) from error


def read_givens(givens: object, inputs: Sequence[In], strict: bool) -> dict[Variable, Variable]:
    """Return which variable takes the place of which."""
    result: dict[Variable, Variable] = {}
    explicit = {i.variable for i in inputs}
    for old, new in pairs("givens", givens):
        if not isinstance(old, Variable):
            msg = f"function: givens replace variables, got {text_of(old)} as a variable to replace. Name a variable."
            raise FunctionTypeError(msg)
        if old in explicit:
            msg = f"function: {old} is an input, so givens cannot replace it. Leave it out of one of the two."
            raise FunctionValueError(msg)
        if old in result:
            msg = f"function: givens replace {old} twice, by {result[old]} and by {new}. Give one of them."
            raise FunctionValueError(msg)
        result[old] = _checked_replacement(old, new, strict)
    for old, new in result.items():
        overlap = next((v for v in ancestors([new]) if v in result and v is not old), None)
        if overlap is not None:
            msg = (
                f"function: the givens ({old}, {new}) and ({overlap}, {result[overlap]}) depend on each other: "
                f"{new} is computed from {overlap}. Apply one of them with clone_replace first."
            )
            raise FunctionValueError(msg)
    return result


def read_updates(updates: object) -> Updates:
    """Return the new values of shared variables."""
    new_values: Updates = {}
    cells: dict[Container, tuple[object, object]] = {}
    for target, new in pairs("updates", updates):
        value = _update(target, new)
        if target.container in cells:
            first, earlier = cells[target.container]
            alias = "" if first is target else f" ({first} and {target} are names of one cell)"
            msg = (
                f"function: two updates are given for {target}{alias}: {_shown(earlier)} and {_shown(new)}. "
                "Combine them into one."
            )
            raise FunctionValueError(msg)
        cells[target.container] = target, new
        new_values[target] = value
    return new_values


def _update(target: object, new: object) -> Variable:
    if not isinstance(target, SharedVariable):
        described = f"{target} of type {target.type}" if isinstance(target, Variable) else text_of(target)
        msg = (
            f"function: updates change shared variables, got {described}. Make it with shared(...), or give an input a "
            "value and an update of its own with In(variable, value=..., update=...)."
        )
        raise FunctionTypeError(msg)
    try:
        variable: Variable = target.type.filter_variable(new)
    except TypeError as error:
        msg = (
            f"function: the update of {target} must be of type {target.type}, got {_shown(new)}. "
            "Cast the expression, for instance with .astype(...)."
        )
        raise FunctionTypeError(msg) from error
    return variable


def shared_in(
    variables: Sequence[Variable], inputs: Collection[Variable], replaced: Mapping[Variable, Variable]
) -> list[SharedVariable]:
    """Return the shared variables that variables depend on after replacement, in the order of a walk upwards.

    What is above an input is not needed. Replacements are not searched for what is to be replaced, as in
    `clone_replace`.
    """
    boundary = set(inputs)
    shared: dict[SharedVariable, None] = {}
    for var in reading_order(variables, boundary | set(replaced)):
        sources = reading_order([replaced[var]], boundary) if var in replaced else (var,)
        shared.update((v, None) for v in sources if isinstance(v, SharedVariable))
    return list(shared)


def _barred(excluded: object) -> set[Container] | None:
    """Return the cells that take no default update; None for all."""
    if excluded is None or excluded is False:
        return set()
    if excluded is True:
        return None
    if not isinstance(excluded, list | tuple | set | frozenset):
        msg = (
            f"function: no_default_updates must be True, False or a list of shared variables, got {text_of(excluded)}."
        )
        raise FunctionTypeError(msg)
    for var in excluded:
        if not isinstance(var, SharedVariable):
            msg = f"function: no_default_updates lists shared variables, got {text_of(var)}. Leave it out."
            raise FunctionTypeError(msg)
    return {var.container for var in excluded}


def with_default_updates(
    updates: Updates,
    outputs: Sequence[Variable],
    inputs: Collection[Variable],
    replaced: Mapping[Variable, Variable],
    excluded: object,
) -> Updates:
    """Add to explicit updates, which win, the default ones of shared variables that are used, until no further one is.

    Nothing above `inputs` is used. `excluded` is True for no default updates, or lists the shared variables that are to
    have none.
    """
    barred = _barred(excluded)
    if barred is None:
        return updates
    result = dict(updates)
    handled = barred | {v.container for v in updates}
    while True:
        further: Updates = {}
        for v in shared_in([*outputs, *result.values()], inputs, replaced):
            if v.default_update is not None and v.container not in handled:
                further[v] = v.type.filter_variable(v.default_update)
                handled.add(v.container)
        if not further:
            return result
        result.update(further)
