"""ScanArgs: the inputs and outputs of a loop of PyTensor's, and of the graph inside, sorted by kind."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.as_pytensor.adapters.scan.layout import (
    INNER_INPUTS,
    INNER_OUTPUTS,
    OUTER_INPUTS,
    OUTER_OUTPUTS,
    ScanInfo,
    flat,
    grouped,
    mappings,
)
from treadle.as_pytensor.adapters.scan.op import Scan
from treadle.config import text_of
from treadle.graph import Apply, GraphTypeError, GraphValueError, Variable, ancestors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# The fields, in the order in which they are searched. States of which the last value alone is kept are called shared.
_FIELDS = (
    "outer_in_seqs", "inner_in_seqs", "inner_in_mit_mot", "inner_in_mit_sot", "outer_in_mit_mot", "outer_in_mit_sot",
    "outer_in_sit_sot", "inner_in_sit_sot", "outer_in_shared", "inner_in_shared", "outer_in_nit_sot",
    "outer_in_non_seqs", "inner_in_non_seqs", "outer_out_mit_mot", "inner_out_mit_mot", "outer_out_mit_sot",
    "inner_out_mit_sot", "outer_out_sit_sot", "inner_out_sit_sot", "outer_out_nit_sot", "inner_out_nit_sot",
    "outer_out_shared", "inner_out_shared",
)  # fmt: skip
_NESTED = ("inner_in_mit_mot", "inner_in_mit_sot", "inner_out_mit_mot")
_TAPS = ("mit_mot_out_slices", "mit_mot_in_slices", "mit_sot_in_slices")
_LISTS = {
    "outer_inp": "outer_inputs",
    "inner_inp": "inner_inputs",
    "inner_out": "inner_outputs",
    "outer_out": "outer_outputs",
}


class FieldInfo(NamedTuple):
    """The place of a variable among the fields of `ScanArgs`.

    Attributes
    ----------
    name
        The field, such as ``inner_out_nit_sot``.
    agg_name
        The list that it is part of, such as ``inner_outputs``.
    index
        Its position in the field; in one with a list for each state, that of the list.
    inner_index
        Its position in that list; None where there are no lists.
    agg_index
        Its position in the list that the field is part of.
    """

    name: str
    agg_name: str
    index: int  # type: ignore[assignment]  # the documented name
    inner_index: int | None
    agg_index: int | None


def default_filter_scanargs(name: str) -> bool:
    """Whether a field holds variables of the node or of the graph inside."""
    return name.startswith(("inner_", "outer_"))


def safe_index(variables: Sequence[Any], x: object) -> int | None:
    """Return the position of something in a list, or None."""
    return next((i for i, other in enumerate(variables) if other is x), None)


class ScanArgs:
    """The parts of a loop, in lists that may be changed before a new loop is built of them.

    ``Scan(args.inner_inputs, args.inner_outputs, args.info).make_node(*args.outer_inputs)`` is that loop.

    Parameters
    ----------
    outer_inputs, outer_outputs
        Those of a node.
    _inner_inputs, _inner_outputs
        Those of the graph inside.
    info
        How many there are of each kind.
    clone
        Deprecated, and without effect.
    """

    default_filter = staticmethod(default_filter_scanargs)
    nested_list_fields = _NESTED

    def __init__(
        self,
        outer_inputs: Sequence[Variable],
        outer_outputs: Sequence[Variable],
        _inner_inputs: Sequence[Variable],
        _inner_outputs: Sequence[Variable],
        info: ScanInfo,
        clone: bool | None = None,
    ) -> None:
        if clone is not None:
            warnings.warn(
                "ScanArgs: clone is deprecated and has no effect. Use ScanArgs.from_node(node, clone=True).",
                FutureWarning,
                stacklevel=2,
            )
        self.n_steps = outer_inputs[0]
        self.as_while = info.as_while
        self.mit_mot_in_slices: Any = info.mit_mot_in_slices
        self.mit_sot_in_slices: Any = info.mit_sot_in_slices
        self.sit_sot_in_slices: Any = info.sit_sot_in_slices
        self.mit_mot_out_slices: Any = info.mit_mot_out_slices
        self.cond = list(_inner_outputs[info.inner_outputs("cond")])
        lists: dict[str, tuple[Sequence[Variable], Callable[[str], slice]]] = {
            "outer_in": (outer_inputs, info.outer_inputs),
            "inner_in": (_inner_inputs, info.inner_inputs),
            "inner_out": (_inner_outputs, info.inner_outputs),
            "outer_out": (outer_outputs, info.outer_outputs),
        }
        taps = dict(
            zip(_NESTED, (info.mit_mot_in_slices, info.mit_sot_in_slices, info.mit_mot_out_slices), strict=True)
        )
        for name in _FIELDS:
            side, kind = name[: name.index("_", 6)], name[name.index("_", 6) + 1 :]
            variables, place = lists[side]
            chosen = list(variables[place(_kind_in_lists(kind))])
            self.__dict__[name] = grouped(chosen, taps[name]) if name in _NESTED else chosen

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a field."""

    @staticmethod
    def from_node(node: Apply, clone: bool = False) -> ScanArgs:
        """Return the parts of a node.

        Parameters
        ----------
        node
            The node.
        clone
            Whether to take a copy of the graph inside, which may be changed.

        Raises
        ------
        GraphTypeError
            If it is no node of a `Scan`.
        """
        if not isinstance(node, Apply) or not isinstance(node.op, Scan):
            msg = f"ScanArgs.from_node: {text_of(node)} is not a Scan node. Take the owner of an output of a loop."
            raise GraphTypeError(msg)
        op = node.op
        graph = op.fgraph.unfreeze() if clone else op.fgraph
        return ScanArgs(node.inputs, node.outputs, list(graph.inputs), list(graph.outputs), op.info)

    @property
    def n_nit_sot(self) -> int:
        """Number of results that are no states."""
        return self.info.n_nit_sot

    @property
    def n_mit_mot(self) -> int:
        """Number of states that a step writes to more than once."""
        return self.info.n_mit_mot

    @property
    def inputs(self) -> list[Variable]:
        """The inputs of the graph inside."""
        return self.inner_inputs

    @property
    def var_mappings(self) -> dict[str, dict[int, int | list[int]]]:
        """Which positions in the lists belong together."""
        return mappings(self.info)

    @property
    def field_names(self) -> list[str]:
        """The names of taps and fields."""
        return [*_TAPS, "n_steps", *_FIELDS]

    def _listed(self, side: str, kinds: Iterable[str]) -> list[Variable]:
        variables: list[Variable] = []
        for kind in kinds:
            if kind == "n_steps":
                variables.append(self.n_steps)
            elif kind == "cond":
                variables += self.cond
            else:
                name = f"{side}_{'shared' if kind == 'untraced' else kind}"
                field = getattr(self, name)
                variables += flat(field) if name in _NESTED else field
        return variables

    @property
    def inner_inputs(self) -> list[Variable]:
        """The inputs of the graph inside."""
        return self._listed("inner_in", INNER_INPUTS)

    @property
    def outer_inputs(self) -> list[Variable]:
        """The inputs of a node."""
        return self._listed("outer_in", OUTER_INPUTS)

    @property
    def inner_outputs(self) -> list[Variable]:
        """The outputs of the graph inside."""
        return self._listed("inner_out", INNER_OUTPUTS)

    @property
    def outer_outputs(self) -> list[Variable]:
        """The outputs of a node."""
        return self._listed("outer_out", OUTER_OUTPUTS)

    @property
    def info(self) -> ScanInfo:
        """How many there are of each kind now, and the taps."""
        return ScanInfo(
            n_seqs=len(self.outer_in_seqs),
            mit_mot_in_slices=tuple(map(tuple, self.mit_mot_in_slices)),
            mit_mot_out_slices=tuple(map(tuple, self.mit_mot_out_slices)),
            mit_sot_in_slices=tuple(map(tuple, self.mit_sot_in_slices)),
            sit_sot_in_slices=((-1,),) * len(self.inner_in_sit_sot),
            n_nit_sot=len(self.outer_in_nit_sot),
            n_untraced_sit_sot=len(self.outer_in_shared),
            n_non_seqs=len(self.inner_in_non_seqs),
            as_while=self.as_while,
        )

    def get_alt_field(self, var_info: Variable | FieldInfo, alt_prefix: str) -> Any:
        """Return a variable's counterpart among those of another side.

        Parameters
        ----------
        var_info
            The variable, or its place.
        alt_prefix
            The side: ``outer_in``, ``inner_in``, ``inner_out`` or ``outer_out``.

        Raises
        ------
        GraphValueError
            If the variable is in no field.
        """
        place = var_info if isinstance(var_info, FieldInfo) else self.find_among_fields(var_info)
        if place is None:
            msg = f"ScanArgs.get_alt_field: couldn't find {var_info} among fields. Pass a variable of the loop."
            raise GraphValueError(msg)
        kind = place.name[place.name.index("_", 6) + 1 :]
        return getattr(self, f"{alt_prefix}_{kind}")[place.index]

    def find_among_fields(
        self, i: Variable, field_filter: Callable[[str], bool] = default_filter_scanargs
    ) -> FieldInfo | None:
        """Return the place of a variable in the first field that has it, or None.

        Parameters
        ----------
        i
            The variable.
        field_filter
            Which fields to search, by name.
        """
        for name in filter(field_filter, self.field_names):
            group = f"{name[: name.index('_', 6)]}puts"
            field = getattr(self, name)
            for index, entry in enumerate(field):
                inner = safe_index(entry, i) if name in _NESTED else None
                if entry is i or inner is not None:
                    return FieldInfo(name, group, index, inner, safe_index(getattr(self, group), i))
        return None

    def _remove_from_fields(
        self, i: Variable, field_filter: Callable[[str], bool] = default_filter_scanargs
    ) -> FieldInfo | None:
        place = self.find_among_fields(i, field_filter)
        if place is not None:
            field = getattr(self, place.name)
            if place.inner_index is None:
                del field[place.index]
            else:
                del field[place.index][place.inner_index]
        return place

    def get_dependent_nodes(self, i: Variable, seen: set[Variable] | None = None) -> set[Variable]:
        """Return the variables of the loop that belong to one, or that steps compute from it.

        Parameters
        ----------
        i
            A variable of the loop.
        seen
            Variables to leave out; those that are found are added.

        Raises
        ------
        GraphValueError
            If it is in no field.
        """
        known = set() if seen is None else seen
        by_pair = self.var_mappings
        found: set[Variable] = set()
        pending = [i]
        known.add(i)
        while pending:
            var = pending.pop()
            place = self.find_among_fields(var)
            if place is None:
                msg = f"ScanArgs.get_dependent_nodes: {var} not found among fields. Pass a variable of the loop."
                raise GraphValueError(msg)
            start = next(short for short, name in _LISTS.items() if name == place.agg_name)
            belonging: list[Variable] = []
            for pair, positions in by_pair.items():
                if pair.endswith(f"_from_{start}") and place.agg_index is not None:
                    at = positions.get(place.agg_index, -1)
                    there = getattr(self, _LISTS[pair[:9]])
                    belonging += [there[n] for n in (at if isinstance(at, list) else [at]) if n >= 0]
            if place.name.startswith("inner_in"):
                belonging += [out for out in self.inner_outputs if var in set(ancestors([out]))]
            for other in belonging:
                if other not in known:
                    known.add(other)
                    found.add(other)
                    pending.append(other)
        return found

    def remove_from_fields(self, i: Variable, rm_dependents: bool = True) -> list[tuple[Variable, FieldInfo | None]]:
        """Take a variable out of the fields; return what was removed, each with its place.

        Parameters
        ----------
        i
            The variable.
        rm_dependents
            Whether what belongs to it, or is computed from it, is taken out too.
        """
        going = {i} | (self.get_dependent_nodes(i) if rm_dependents else set())
        return [(var, self._remove_from_fields(var)) for var in going]

    def __copy__(self) -> ScanArgs:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        for name in (*_FIELDS, *_TAPS):
            new.__dict__[name] = copy.copy(self.__dict__[name])
        return new

    def merge(self, other: ScanArgs) -> ScanArgs:
        """Return the parts of both loops together."""
        new = copy.copy(self)
        for name in (*_FIELDS, *_TAPS):
            mine, more = self.__dict__[name], other.__dict__[name]
            new.__dict__[name] = (*mine, *more) if isinstance(mine, tuple) else [*mine, *more]
        return new

    def __str__(self) -> str:
        names = [name for side in ("outer_in", "inner_in") for name in _FIELDS if name.startswith(side)]
        names = ["n_steps", *names, "mit_mot_in_slices", "mit_sot_in_slices"]
        names += [name for name in _FIELDS if name.startswith("inner_out")]
        names += ["mit_mot_out_slices", *(name for name in _FIELDS if name.startswith("outer_out"))]
        lines = ",\n".join(f"\t{name}={getattr(self, name)}" for name in names)
        return f"ScanArgs(\n{lines})"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScanArgs):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.field_names)

    __hash__ = None  # type: ignore[assignment]  # its fields change


def _kind_in_lists(kind: str) -> str:
    return "untraced" if kind == "shared" else kind
