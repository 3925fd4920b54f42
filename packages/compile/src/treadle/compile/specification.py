"""From the arguments of `function` to a graph: inputs, outputs, givens, updates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import FunctionTypeError, FunctionValueError, UnusedInputError
from treadle.compile.io import In, as_in, as_out
from treadle.config import config
from treadle.graph import FunctionGraph, SharedVariable, Variable, ancestors, clone_replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.compile.io import Out
    from treadle.graph import Container


@dataclass(frozen=True, slots=True)
class Specification:
    """What a function computes, before rewriting.

    Attributes
    ----------
    inputs
        The explicit inputs.
    outputs
        The outputs, with givens applied.
    keys
        Keys of a dict of outputs, or None.
    single
        Whether one bare output was asked for.
    shared
        Shared variables that are read.
    updates
        New values of cells: shared variables' and inputs' defaults, with givens applied.
    """

    inputs: tuple[In, ...]
    outputs: tuple[Out, ...]
    keys: tuple[Any, ...] | None
    single: bool
    shared: tuple[SharedVariable, ...]
    updates: tuple[tuple[Container, Variable], ...]

    def graph(self) -> FunctionGraph:
        """Return a graph of its own: explicit inputs, then shared variables; outputs, then updates."""
        ins = [*(i.variable for i in self.inputs), *self.shared]
        outs = [*(o.variable for o in self.outputs), *(new for _, new in self.updates)]
        places = {cell: at for at, cell in enumerate(self.cells()) if cell is not None}
        updated = {len(self.outputs) + k: places[cell] for k, (cell, _) in enumerate(self.updates) if cell in places}
        return FunctionGraph(ins, outs, update_mapping=updated)

    def cells(self) -> list[Container | None]:
        """Return for each input of the graph the container that its value is kept in, or None."""
        return [*(i.container for i in self.inputs), *(s.container for s in self.shared)]

    def native_outputs(self) -> frozenset[int]:
        """Return the positions of outputs that may stay in the backend's own form."""
        borrowed = {i for i, out in enumerate(self.outputs) if out.borrow}
        return frozenset(borrowed | set(range(len(self.outputs), len(self.outputs) + len(self.updates))))


def _pairs(what: str, given: Any) -> list[tuple[Any, Any]]:
    """Return updates or givens, a mapping or an iterable of pairs, as a list of pairs."""
    if given is None:
        return []
    items = list(given.items()) if isinstance(given, Mapping) else given
    if not isinstance(items, list | tuple) or not all(isinstance(p, tuple | list) and len(p) == 2 for p in items):
        msg = f"function: {what} must be a dict or a list of pairs, got {given!r}."
        raise FunctionTypeError(msg)
    return [(a, b) for a, b in items]


def _givens(given: Any, inputs: Sequence[In], strict: bool) -> dict[Variable, Variable]:
    """Return which variable takes the place of which."""
    result: dict[Variable, Variable] = {}
    explicit = {i.variable for i in inputs}
    for old, new in _pairs("givens", given):
        if not isinstance(old, Variable):
            msg = f"function: givens replace variables, got {old!r} as a variable to replace."
            raise FunctionTypeError(msg)
        if old in explicit:
            msg = f"function: {old} is an input, so givens cannot replace it. Leave it out of one of the two."
            raise FunctionValueError(msg)
        if old in result:
            msg = f"function: givens replace {old} twice, by {result[old]} and by {new}. Give one of them."
            raise FunctionValueError(msg)
        result[old] = old.type.filter_variable(new) if strict or not isinstance(new, Variable) else new
    for old, new in result.items():
        overlap = next((v for v in ancestors([new]) if v in result and v is not old), None)
        if overlap is not None:
            msg = (
                f"function: the givens ({old}, {new}) and ({overlap}, {result[overlap]}) depend on each other: "
                f"{new} is computed from {overlap}. Apply one of them with clone_replace first."
            )
            raise FunctionValueError(msg)
    return result


def _update(target: Any, new: Any) -> Variable:
    if not isinstance(target, SharedVariable):
        msg = f"function: updates change shared variables, got {target!r}. Make it with shared(...)."
        raise FunctionTypeError(msg)
    try:
        return target.type.filter_variable(new)
    except TypeError as error:
        shown = f"{new} of type {new.type}" if isinstance(new, Variable) else repr(new)
        line = getattr(new, "user_line", None)
        where = f", built at {line}" if line is not None else ""
        msg = (
            f"function: the update of {target} must be of type {target.type}, got {shown}{where}. "
            "Cast the expression, for instance with .astype(...)."
        )
        raise FunctionTypeError(msg) from error


def _explicit_updates(given: Any) -> dict[SharedVariable, Variable]:
    updates: dict[SharedVariable, Variable] = {}
    cells: dict[Container, Any] = {}
    for target, new in _pairs("updates", given):
        value = _update(target, new)
        if target.container in cells:
            msg = f"function: two updates are given for {target}. Combine them into one."
            raise FunctionValueError(msg)
        cells[target.container] = target
        updates[target] = value
    return updates


def _shared_in(variables: Sequence[Variable], replaced: Mapping[Variable, Variable]) -> list[SharedVariable]:
    """Return the shared variables that variables depend on after replacement, in the order in which a walk meets them.

    Replacements are not searched for what is to be replaced, as in `clone_replace`.
    """
    inside = ancestors(variables, set(replaced))
    found: dict[SharedVariable, None] = {}
    for var in inside:
        sources = ancestors([replaced[var]]) if var in replaced else (var,)
        found.update((v, None) for v in sources if isinstance(v, SharedVariable))
    return list(found)


def _with_default_updates(
    updates: dict[SharedVariable, Variable],
    outputs: Sequence[Variable],
    replaced: Mapping[Variable, Variable],
    excluded: Any,
) -> dict[SharedVariable, Variable]:
    """Add the default updates of shared variables that are used, until no further one is."""
    if excluded is True:
        return updates
    barred = set(excluded or ())
    result = dict(updates)
    while True:
        more = {
            v: v.type.filter_variable(v.default_update)
            for v in _shared_in([*outputs, *result.values()], replaced)
            if v.default_update is not None and v not in result and v not in barred
        }
        if not more:
            return result
        result.update(more)


def _read_outputs(given: Any) -> tuple[list[Out], tuple[Any, ...] | None, bool]:
    """Return outputs, keys of a dict, and whether a single bare one was given."""
    if given is None:
        return [], None, False
    if isinstance(given, Mapping):
        return [as_out(o) for o in given.values()], tuple(given), False
    if isinstance(given, list | tuple):
        return [as_out(o) for o in given], None, False
    return [as_out(given)], None, True


def _check_distinct(inputs: Sequence[In]) -> None:
    seen: dict[Variable, None] = {}
    for item in inputs:
        if item.variable in seen:
            msg = f"function: {item.variable} is given twice among the inputs. Give each input once."
            raise UnusedInputError(msg)
        seen[item.variable] = None


def _check_used(inputs: Sequence[In], needed: Sequence[Variable], action: str) -> None:
    if action == "ignore":
        return
    used = set(ancestors(needed))
    for i, item in enumerate(inputs):
        if item.variable in used or item.update is not None:
            continue
        msg = (
            f"function: input {i}, {item.variable} of type {item.variable.type}, is not used by any output or update. "
            "Leave it out, or pass on_unused_input='ignore'."
        )
        if action == "raise":
            raise UnusedInputError(msg)
        warnings.warn(msg, UserWarning, stacklevel=4)


def specify(
    inputs: Any,
    outputs: Any,
    updates: Any,
    givens: Any,
    no_default_updates: Any,
    rebuild_strict: bool,
    on_unused_input: str | None,
    allow_input_downcast: bool | None,
) -> Specification:
    """Return what a function computes (parameters and errors as for `function`)."""
    action = config.on_unused_input if on_unused_input is None else on_unused_input
    if action not in {"raise", "warn", "ignore"}:
        msg = f"function: on_unused_input must be raise, warn or ignore, got {on_unused_input!r}."
        raise FunctionValueError(msg)
    if not isinstance(inputs, list | tuple):
        msg = f"function: inputs must be a list of variables, got {inputs!r}. Put it into a list."
        raise FunctionTypeError(msg)
    ins = [as_in(i).with_downcast(allow_input_downcast) for i in inputs]
    _check_distinct(ins)
    outs, keys, single = _read_outputs(outputs)
    changes = _explicit_updates(updates)
    replaced = _givens(givens, ins, rebuild_strict)
    all_updates = _with_default_updates(changes, [o.variable for o in outs], replaced, no_default_updates)
    own = [(i.container, i.update) for i in ins if i.update is not None and i.container is not None]
    cells = [*((s.container, new) for s, new in all_updates.items()), *own]
    wanted = [*(o.variable for o in outs), *(new for _, new in cells)]
    if replaced:
        wanted = clone_replace(wanted, replaced, rebuild_strict=rebuild_strict)
    _check_used(ins, wanted, action)
    results = tuple(type(o)(v, o.borrow) for o, v in zip(outs, wanted, strict=False))
    new_values = wanted[len(outs) :]
    return Specification(
        tuple(ins),
        results,
        keys,
        single,
        tuple(_shared_in(wanted, {})),
        tuple((cell, new) for (cell, _), new in zip(cells, new_values, strict=True)),
    )
