"""From the arguments of `function` to a graph: inputs, outputs, givens, updates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.compile.errors import FunctionTypeError, FunctionValueError, UnusedInputError
from treadle.compile.functions.locking import read_together
from treadle.compile.functions.replacements import read_givens, read_updates, shared_in, with_default_updates
from treadle.compile.io import In, Out, as_in, as_out, check_downcast
from treadle.config import config, dataclass, text_of
from treadle.graph import (
    Constant,
    Container,
    FunctionGraph,
    MissingInputError,
    SharedVariable,
    clone_replace,
    origins,
    reading_order,
    toposort,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Type, Variable


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
    none
        Whether None was given for the outputs.
    updated
        Shared variables that have a new value, read or not.
    """

    inputs: tuple[In, ...]
    outputs: tuple[Out, ...]
    keys: tuple[object, ...] | None
    single: bool
    shared: tuple[SharedVariable, ...]
    updates: tuple[tuple[Container, Variable], ...]
    none: bool = False
    updated: tuple[SharedVariable, ...] = ()

    def graph(self) -> FunctionGraph:
        """Return a graph of its own: explicit inputs, then shared variables; outputs, then updates."""
        ins: list[Variable] = [*(i.variable for i in self.inputs), *self.shared]
        outs = [*(o.variable for o in self.outputs), *(new for _, new in self.updates)]
        ins, outs = _carried(ins, outs)
        places = {cell: at for at, cell in enumerate(self.cells()) if cell is not None}
        updated = {len(self.outputs) + k: places[cell] for k, (cell, _) in enumerate(self.updates) if cell in places}
        return FunctionGraph(ins, outs, update_mapping=updated)

    def completed(self, fgraph: FunctionGraph) -> FunctionGraph:
        """Return a graph between the inputs and outputs with what is missing: shared variables and updates."""
        ins, outs = [i.variable for i in self.inputs], [o.variable for o in self.outputs]
        explicit = [v for v in fgraph.inputs if not isinstance(v, SharedVariable)]
        if explicit != ins or list(fgraph.outputs) != outs:
            msg = f"FunctionMaker: the graph given is not one from {ins} to {outs}. Pass its own inputs and outputs."
            raise FunctionValueError(msg)
        for var in self.shared:
            if var not in fgraph.inputs:
                fgraph.add_input(var)
        for _, new in self.updates:
            fgraph.add_output(new, reason="update")
        places = {cell: at for at, cell in enumerate(self.cells()) if cell is not None}
        fgraph.update_mapping = {
            len(outs) + k: places[cell] for k, (cell, _) in enumerate(self.updates) if cell in places
        }
        return fgraph

    def computes_as(self, other: Specification) -> bool:
        """Whether it computes the same expressions as another one: only the cells may differ."""
        return (
            [i.variable for i in self.inputs] == [i.variable for i in other.inputs]
            and [(o.variable, o.borrow) for o in self.outputs] == [(o.variable, o.borrow) for o in other.outputs]
            and self.shared == other.shared
            and [new for _, new in self.updates] == [new for _, new in other.updates]
        )

    def _explicit(self) -> list[Variable]:
        return [i.variable for i in self.inputs]

    def cells(self) -> list[Container | None]:
        """Return for each input of the graph the container that its value is kept in, or None."""
        return [*(i.container for i in self.inputs), *(s.container for s in self.shared)]

    def kept_cells(self) -> list[Container]:
        """Return the cells of all values that are kept: of inputs with defaults, then of shared variables."""
        return [*(i.container for i in self.inputs if i.container is not None), *(s.container for s in self.state())]

    def state(self) -> list[SharedVariable]:
        """Return the shared variables: those that are read, then those that are only updated."""
        read = {s.container for s in self.shared}
        return [*self.shared, *(s for s in self.updated if s.container not in read)]

    def native_outputs(self) -> frozenset[int]:
        """Return the positions of outputs that may stay in the backend's own form."""
        borrowed = {i for i, out in enumerate(self.outputs) if out.borrow}
        return frozenset(borrowed | set(range(len(self.outputs), len(self.outputs) + len(self.updates))))

    def wrapped_inputs(self) -> list[In]:
        """Return an In for each input of the graph; a shared variable is a borrowed one, with its update."""
        new_values = dict(self.updates)
        return [
            *self.inputs,
            *(In(s, value=s.container, update=new_values.get(s.container), borrow=True) for s in self.shared),
        ]

    def wrapped_outputs(self) -> list[Out]:
        """Return an Out for each output of the graph, updates included."""
        return [*self.outputs, *(Out(new) for _, new in self.updates)]

    def mutable_inputs(self) -> list[int]:
        """Return the positions of inputs whose arguments a program may overwrite.

        A default stays as it is, so that a call that fails has changed nothing but its arguments.
        """
        return [i for i, item in enumerate(self.inputs) if item.mutable and item.value is None]

    # Variants

    def duplicated(self) -> Specification:
        """Return the same with defaults in cells of their own."""
        values = read_together(i.container for i in self.inputs if i.container is not None)
        inputs = tuple(i.duplicated(values) for i in self.inputs)
        moved = {a.container: b.container for a, b in zip(self.inputs, inputs, strict=True)}
        updates = tuple((moved.get(cell) or cell, new) for cell, new in self.updates)
        return replace(self, inputs=inputs, updates=updates)

    def apart(self) -> Specification:
        """Return the same with cells of its own for all that is kept, for a program that exists already.

        Its expressions are those of this one, with the shared variables that these have.
        """
        cells = {
            cell: Container(
                cell.type, value, strict=cell.strict, allow_downcast=cell.allow_downcast, name=cell.name,
                device=cell.device,
            )
            for cell, value in read_together(self.kept_cells()).items()
        }  # fmt: skip
        twins = {
            s: type(s)(s.type, None, s.strict, s.allow_downcast, container=cells[s.container], name=s.name)
            for s in (*self.shared, *self.updated)
        }
        return replace(
            self,
            inputs=tuple(i.on(cells) for i in self.inputs),
            shared=tuple(twins[s] for s in self.shared),
            updates=tuple((cells[cell], new) for cell, new in self.updates),
            updated=tuple(twins[s] for s in self.updated),
        )

    def without_updates(self) -> Specification:
        """Return the same without updates."""
        inputs = tuple(i.without_update() for i in self.inputs)
        shared = shared_in([o.variable for o in self.outputs], self._explicit(), {})
        return replace(self, inputs=inputs, shared=tuple(shared), updates=(), updated=())

    def restricted(self, positions: Sequence[int]) -> Specification:
        """Return the same with some of the outputs, in a list; all inputs and updates stay."""
        outputs = tuple(self.outputs[i] for i in positions)
        expressions = [*(o.variable for o in outputs), *(new for _, new in self.updates)]
        shared = tuple(shared_in(expressions, self._explicit(), {}))
        return replace(self, outputs=outputs, keys=None, single=False, shared=shared)

    def swapped(self, swap: object) -> Specification:
        """Return the same with some shared variables in the places of others."""
        if not isinstance(swap, Mapping):
            msg = f"copy: swap must be a dict, got {text_of(swap)}. Write {{old: new}}, with two shared variables."
            raise FunctionTypeError(msg)
        new_cells = {self._swappable(old).container: _replacement(old, new).container for old, new in swap.items()}
        by_cell = {old.container: new for old, new in swap.items()}
        exchanged = {var: by_cell[var.container] for var in self.shared if var.container in by_cell}
        expressions = [*(o.variable for o in self.outputs), *(new for _, new in self.updates)]
        swapped = clone_replace(expressions, exchanged)
        cells = [new_cells.get(cell, cell) for cell, _ in self.updates]
        if len(set(cells)) < len(cells):
            msg = "copy: after the swap two updates are made of one shared variable. Swap both, or use delete_updates."
            raise FunctionValueError(msg)
        return replace(
            self,
            outputs=tuple(Out(v, o.borrow) for v, o in zip(swapped, self.outputs, strict=False)),
            shared=tuple(dict.fromkeys(exchanged.get(v, v) for v in self.shared)),
            updates=tuple(zip(cells, swapped[len(self.outputs) :], strict=True)),
            updated=tuple(by_cell.get(s.container, s) for s in self.updated),
        )

    def _swappable(self, old: object) -> SharedVariable:
        cells = {s.container for s in self.shared} | {cell for cell, _ in self.updates}
        if isinstance(old, SharedVariable) and old.container in cells:
            return old
        names = ", ".join(map(str, self.state())) or "none"
        msg = f"copy: swap replaces shared variables of the function ({names}), got {text_of(old)}. Name one of these."
        raise FunctionValueError(msg)


def _replacement(old: SharedVariable, new: object) -> SharedVariable:
    if isinstance(new, SharedVariable) and new.type == old.type:
        return new
    described = f"{new} of type {new.type}" if isinstance(new, SharedVariable) else text_of(new)
    msg = f"copy: {old} of type {old.type} can be swapped for a shared variable of the same type, got {described}."
    raise FunctionTypeError(msg)


def _carried(ins: Sequence[Variable], outs: Sequence[Variable]) -> tuple[list[Variable], list[Variable]]:
    """Return inputs and outputs of a graph with variables of the carriers in place of those whose types have one."""
    carriers = {x: kind for x in ins if (kind := x.type.carrier()) is not None}
    if carriers:
        given = {x: _in_place_of(x, kind) for x, kind in carriers.items()}
        outs = clone_replace(list(outs), {x: x.type.from_carrier(new) for x, new in given.items()})
        ins = [given.get(x, x) for x in ins]
    return list(ins), [y if y.type.carrier() is None else y.type.to_carrier(y) for y in outs]


def _in_place_of(x: Variable, carrier: Type) -> Variable:
    """Return a variable of the carrier of another one's type; of a shared variable, one with the same value."""
    if not isinstance(x, SharedVariable):
        return carrier.make_variable(x.name)
    kind: type[SharedVariable] = getattr(carrier, "shared_type", SharedVariable)
    return kind(carrier, None, x.strict, x.allow_downcast, container=x.container, name=x.name)


def _read_outputs(outputs: object) -> tuple[list[Out], tuple[Any, ...] | None, bool]:
    """Return outputs, keys of a dict, and whether it is a single bare one."""
    if outputs is None:
        return [], None, False
    if isinstance(outputs, Mapping):
        return [as_out(o) for o in outputs.values()], tuple(outputs), False
    if isinstance(outputs, list | tuple):
        return [as_out(o) for o in outputs], None, False
    return [as_out(outputs)], None, True


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
    # What is only above another input is not used, since that input's value takes its place.
    explicit = {item.variable for item in inputs}
    used = dict.fromkeys(reading_order(needed, explicit))
    unused = [(i, item) for i, item in enumerate(inputs) if item.variable not in used and item.update is None]
    # An input that an expression was written with is no mistake, even if nothing is left of it.
    written_with = set(origins(needed, explicit)) if unused else ()
    for i, item in unused:
        if item.variable in written_with:
            continue
        # A cycle in the graph is reported first.
        toposort(needed, explicit)
        names = ", ".join(str(v) for v in used if v in explicit or _must_be_given(v)) or "none"
        msg = (
            f"function: input {i}, {item.variable} of type {item.variable.type}, is not used by any output or update. "
            f"The inputs that are used: {names}. Leave it out, or pass on_unused_input='ignore'."
        )
        if action == "raise":
            raise UnusedInputError(msg)
        warnings.warn(msg, UserWarning, stacklevel=4)


def _must_be_given(var: Variable) -> bool:
    return var.owner is None and not isinstance(var, Constant | SharedVariable)


def _check_complete(inputs: Sequence[In], needed: Sequence[Variable]) -> None:
    """Check that everything that the caller must give is among the inputs."""
    explicit = {i.variable for i in inputs}
    clients: dict[Variable, Variable | None] = dict.fromkeys(reversed(needed))
    waiting = list(clients)
    while waiting:
        var = waiting.pop()
        if var in explicit:
            continue
        if _must_be_given(var):
            _refuse_missing(inputs, var, clients)
        for x in () if var.owner is None else var.owner.inputs:
            if x not in clients:
                clients[x] = var
                waiting.append(x)


_SHOWN_STEPS = 4


def _refuse_missing(inputs: Sequence[In], var: Variable, clients: Mapping[Variable, Variable | None]) -> NoReturn:
    """Raise the error of an input that is missing, with the way from an output to it."""
    variables = [var]
    while (client := clients[variables[-1]]) is not None:
        variables.append(client)
    variables.reverse()
    nodes = [v.owner for v in variables if v.owner is not None]
    steps = [f"{node.op}{node.where()}" for node in (*nodes[:_SHOWN_STEPS], *nodes[_SHOWN_STEPS:][-_SHOWN_STEPS:])]
    if len(nodes) > len(steps):
        steps.insert(_SHOWN_STEPS, f"{len(nodes) - len(steps)} more")
    use = f"{nodes[-1].op}{nodes[-1].where()}" if nodes else "an output"
    path = " <- ".join([str(variables[0].name or "output"), *steps, str(var)])
    path_text = f"The way from the output: {path}. " if nodes else ""
    names = ", ".join(str(i.variable) for i in inputs) or "none"
    msg = (
        f"{var} of type {var.type}: the variable is needed by {use}, but is not among the inputs ({names}). "
        f"{path_text}Add it to the inputs, or give it a value through givens."
    )
    raise MissingInputError(msg)


def specify(
    inputs: object,
    outputs: object,
    updates: Any = None,
    givens: object = None,
    no_default_updates: object = False,
    rebuild_strict: bool = True,
    on_unused_input: str | None = None,
    allow_input_downcast: bool | None = None,
) -> Specification:
    """Return what a function computes (parameters and errors as for `function`)."""
    action = config.on_unused_input if on_unused_input is None else on_unused_input
    if not isinstance(action, str) or action not in {"raise", "warn", "ignore"}:
        msg = f"function: on_unused_input must be raise, warn or ignore, got {text_of(on_unused_input)}."
        raise FunctionValueError(msg)
    if not isinstance(inputs, list | tuple):
        trees = "List its values, or make a function of dictionaries with compiled(f)."
        cure = trees if isinstance(inputs, dict) else "Put it into a list."
        msg = f"function: inputs must be a list of variables, got {text_of(inputs)}. {cure}"
        raise FunctionTypeError(msg)
    check_downcast("function: allow_input_downcast", allow_input_downcast)
    ins = [as_in(i).bound(allow_input_downcast) for i in inputs]
    _check_distinct(ins)
    out_specs, keys, single = _read_outputs(outputs)
    variables = [i.variable for i in ins]
    changes = read_updates(updates)
    replaced = read_givens(givens, ins, rebuild_strict)
    all_updates = with_default_updates(
        changes, [o.variable for o in out_specs], variables, replaced, no_default_updates
    )
    # Updates stand in the order in which outputs reach what they change, however they were given.
    if len(all_updates) > 1:
        reached = {v: n for n, v in enumerate(shared_in([o.variable for o in out_specs], variables, replaced))}
        all_updates = dict(sorted(all_updates.items(), key=lambda update: reached.get(update[0], len(reached))))
    input_updates = [(i.container, i.update) for i in ins if i.update is not None and i.container is not None]
    cells = [*((s.container, new) for s, new in all_updates.items()), *input_updates]
    if len({cell for cell, _ in cells}) < len(cells):
        msg = "function: two updates change the cell of one shared variable, given as an input's default too. Drop one."
        raise FunctionValueError(msg)
    expressions = [*(o.variable for o in out_specs), *(new for _, new in cells)]
    if replaced:
        # An input stays itself, even if what it was built from is replaced.
        unchanged = {var: var for var in variables if var.owner is not None}
        expressions = clone_replace(expressions, unchanged | replaced, rebuild_strict=rebuild_strict)
    _check_used(ins, expressions, action)
    _check_complete(ins, expressions)
    return Specification(
        tuple(ins),
        tuple(Out(v, o.borrow) for o, v in zip(out_specs, expressions, strict=False)),
        keys,
        single,
        tuple(shared_in(expressions, variables, {})),
        tuple((cell, new) for (cell, _), new in zip(cells, expressions[len(out_specs) :], strict=True)),
        outputs is None,
        tuple(all_updates),
    )
