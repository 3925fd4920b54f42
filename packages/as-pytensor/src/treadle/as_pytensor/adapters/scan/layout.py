"""Where the inputs and outputs of a loop of PyTensor's stand, and those of the graph inside."""

from __future__ import annotations

import warnings
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, TypeVar

from treadle.config import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph import Variable

T = TypeVar("T")
Taps = tuple[tuple[int, ...], ...]

# The kinds of variables of a loop, in the order in which each list has them.
INNER_INPUTS = ("seqs", "mit_mot", "mit_sot", "sit_sot", "untraced", "non_seqs")
OUTER_INPUTS = ("n_steps", "seqs", "mit_mot", "mit_sot", "sit_sot", "untraced", "nit_sot", "non_seqs")
INNER_OUTPUTS = ("mit_mot", "mit_sot", "sit_sot", "nit_sot", "untraced", "cond")
OUTER_OUTPUTS = ("mit_mot", "mit_sot", "sit_sot", "nit_sot", "untraced")
# For each of the mappings of a loop: which of the four lists it leads to, and from which.
_LISTS = ("outer_inp", "inner_inp", "inner_out", "outer_out")


@dataclass(frozen=True)
class ScanInfo:
    """How many variables of each kind a loop has, and which taps.

    Attributes
    ----------
    n_seqs
        Number of sequences, one for each tap.
    mit_mot_in_slices, mit_mot_out_slices
        Taps of states that a step writes to more than once.
    mit_sot_in_slices
        Taps of states of which a step takes several earlier values.
    sit_sot_in_slices
        Taps of states of which a step takes the last value: ``(-1,)`` for each.
    n_nit_sot
        Number of results that later steps do not take.
    n_untraced_sit_sot
        Number of states of which only the last value is kept, such as generators.
    n_non_seqs
        Number of variables that are the same in all steps.
    as_while
        Whether the last output of a step is a condition that ends the loop.
    """

    n_seqs: int
    mit_mot_in_slices: Taps
    mit_mot_out_slices: Taps
    mit_sot_in_slices: Taps
    sit_sot_in_slices: Taps
    n_nit_sot: int
    n_untraced_sit_sot: int
    n_non_seqs: int
    as_while: bool

    @property
    def n_shared_outs(self) -> int:
        """The deprecated name of `n_untraced_sit_sot`."""
        warnings.warn("ScanInfo.n_shared_outs is deprecated: n_untraced_sit_sot.", DeprecationWarning, stacklevel=2)
        return self.n_untraced_sit_sot

    @property
    def n_mit_mot(self) -> int:
        """Number of states that a step writes to more than once."""
        return len(self.mit_mot_in_slices)

    @property
    def n_mit_mot_outs(self) -> int:
        """How often a step writes to these."""
        return _count(self.mit_mot_out_slices)

    @property
    def n_mit_sot(self) -> int:
        """Number of states of which a step takes several earlier values."""
        return len(self.mit_sot_in_slices)

    @property
    def n_sit_sot(self) -> int:
        """Number of states of which a step takes the last value."""
        return len(self.sit_sot_in_slices)

    @property
    def tap_array(self) -> Taps:
        """The taps of all states, in order."""
        return self.mit_mot_in_slices + self.mit_sot_in_slices + self.sit_sot_in_slices

    @property
    def n_inner_inputs(self) -> int:
        """Number of inputs of the graph inside."""
        return sum(self._counts(INNER_INPUTS, self._inner_input_counts))

    @property
    def n_inner_outputs(self) -> int:
        """Number of outputs of the graph inside."""
        return sum(self._counts(INNER_OUTPUTS, self._inner_output_counts))

    @property
    def n_outer_inputs(self) -> int:
        """Number of inputs of a node."""
        return sum(self._counts(OUTER_INPUTS, self._outer_counts))

    @property
    def n_outer_outputs(self) -> int:
        """Number of outputs of a node."""
        return sum(self._counts(OUTER_OUTPUTS, self._outer_counts))

    @property
    def normalized_mit_mot_in_slices(self) -> Taps:
        """The taps that are read of states that a step writes to more than once, counted from the oldest."""
        return _from_oldest(self.mit_mot_in_slices)

    @property
    def normalized_mit_mot_out_slices(self) -> Taps:
        """The taps that are written, counted from the oldest."""
        return _from_oldest(self.mit_mot_out_slices)

    @property
    def _outer_counts(self) -> dict[str, int]:
        return {
            "n_steps": 1,
            "seqs": self.n_seqs,
            "mit_mot": self.n_mit_mot,
            "mit_sot": self.n_mit_sot,
            "sit_sot": self.n_sit_sot,
            "nit_sot": self.n_nit_sot,
            "untraced": self.n_untraced_sit_sot,
            "non_seqs": self.n_non_seqs,
            "cond": int(self.as_while),
        }

    @property
    def _inner_input_counts(self) -> dict[str, int]:
        taps = {"mit_mot": _count(self.mit_mot_in_slices), "mit_sot": _count(self.mit_sot_in_slices)}
        return {**self._outer_counts, **taps}

    @property
    def _inner_output_counts(self) -> dict[str, int]:
        return {**self._outer_counts, "mit_mot": self.n_mit_mot_outs}

    @staticmethod
    def _counts(kinds: Iterable[str], counts: dict[str, int]) -> list[int]:
        return [counts[kind] for kind in kinds]

    def inner_inputs(self, kind: str) -> slice:
        """Return where the inputs of one kind stand in the graph inside."""
        return self._places(INNER_INPUTS, self._inner_input_counts, kind)

    def inner_outputs(self, kind: str) -> slice:
        """Return where the outputs of one kind stand in the graph inside."""
        return self._places(INNER_OUTPUTS, self._inner_output_counts, kind)

    def outer_inputs(self, kind: str) -> slice:
        """Return where the inputs of one kind stand in a node."""
        return self._places(OUTER_INPUTS, self._outer_counts, kind)

    def outer_outputs(self, kind: str) -> slice:
        """Return where the outputs of one kind stand in a node."""
        return self._places(OUTER_OUTPUTS, self._outer_counts, kind)

    def _places(self, kinds: Sequence[str], counts: dict[str, int], kind: str) -> slice:
        starts = list(accumulate(self._counts(kinds, counts), initial=0))
        return dict(zip(kinds, (slice(*pair) for pair in pairwise(starts)), strict=True))[kind]


def _count(taps: Taps) -> int:
    return sum(map(len, taps))


def _from_oldest(slices: Taps) -> Taps:
    return tuple(tuple(tap - min(0, *taps) for tap in taps) for taps in slices)


def grouped(variables: Sequence[T], taps: Iterable[Sequence[object]]) -> list[list[T]]:
    """Return variables of which there is one for each tap, those of each state in a list."""
    bounds = accumulate(map(len, taps), initial=0)
    return [list(variables[start:stop]) for start, stop in pairwise(bounds)]


def mappings(info: ScanInfo) -> dict[str, dict[int, int | list[int]]]:
    """Return which positions in the four lists of variables of a loop belong together.

    For each pair of lists there is a dictionary ``<to>_from_<from>`` of positions in the one by positions in the other.
    A variable of a node belongs to one of a node at most, -1 if there is none, and to a list of those inside.
    """
    by_list: dict[str, dict[int, int | list[int]]] = {
        f"{to}_from_{start}": {} for start in ("outer_out", "outer_inp", "inner_inp", "inner_out") for to in _LISTS
        if to != start
    }  # fmt: skip
    for group in _groups(info):
        at: dict[str, int | list[int]] = dict(zip(_LISTS, group, strict=True))
        for start, positions in at.items():
            for position in positions if isinstance(positions, list) else [positions]:
                if position >= 0:
                    for to in _LISTS:
                        if to != start:
                            by_list[f"{to}_from_{start}"][position] = at[to]
    return by_list


def _groups(info: ScanInfo) -> list[tuple[int, list[int], list[int], int]]:
    """Return the positions in the four lists of what belongs together, -1 and empty lists where there is none."""
    groups: list[tuple[int, list[int], list[int], int]] = [(0, [], [], -1)]
    for kind in ("seqs", "mit_mot", "mit_sot", "sit_sot", "nit_sot", "untraced", "non_seqs"):
        outer = _positions(info.outer_inputs(kind))
        one_each = [1] * len(outer)
        taken, written = one_each, one_each
        if kind == "nit_sot":
            taken = [0] * len(outer)
        elif kind.startswith("mit"):
            taken = [len(taps) for taps in (info.mit_mot_in_slices if kind == "mit_mot" else info.mit_sot_in_slices)]
        if kind == "mit_mot":
            written = [len(taps) for taps in info.mit_mot_out_slices]
        stacked = kind in OUTER_OUTPUTS
        inner_in = [] if kind == "nit_sot" else _positions(info.inner_inputs(kind))
        inner_out = _positions(info.inner_outputs(kind)) if stacked else []
        outer_out = _positions(info.outer_outputs(kind)) if stacked else [-1] * len(outer)
        ins = grouped(inner_in, [range(n) for n in taken])
        outs = grouped(inner_out, [range(n) for n in written]) if stacked else [[] for _ in outer]
        groups += zip(outer, ins, outs, outer_out, strict=True)
    return groups


def _positions(places: slice) -> list[int]:
    return list(range(places.start, places.stop))


class ScanMethodsMixin:
    """The methods of a loop that pick the variables of one kind out of a list of them."""

    info: ScanInfo

    def inner_seqs(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return the rows of sequences among the inputs of the graph inside."""
        return list_inputs[self.info.inner_inputs("seqs")]

    def outer_seqs(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return the sequences among the inputs of a node."""
        return list_inputs[self.info.outer_inputs("seqs")]

    def inner_mitmot(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return what a step takes of states that it writes to more than once."""
        return list_inputs[self.info.inner_inputs("mit_mot")]

    def inner_mitmot_grouped(self, list_inputs: Sequence[T]) -> list[list[T]]:
        """Return the same, a list for each state."""
        return grouped(self.inner_mitmot(list_inputs), self.info.mit_mot_in_slices)

    def outer_mitmot(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return the buffers of these states."""
        return list_inputs[self.info.outer_inputs("mit_mot")]

    def inner_mitmot_outs(self, list_outputs: Sequence[T]) -> Sequence[T]:
        """Return what a step writes to these states."""
        return list_outputs[self.info.inner_outputs("mit_mot")]

    def inner_mitmot_outs_grouped(self, list_outputs: Sequence[T]) -> list[list[T]]:
        """Return the same, a list for each state."""
        return grouped(self.inner_mitmot_outs(list_outputs), self.info.mit_mot_out_slices)

    def outer_mitmot_outs(self, list_outputs: Sequence[T]) -> Sequence[T]:
        """Return these states among the outputs of a node."""
        return list_outputs[self.info.outer_outputs("mit_mot")]

    def inner_mitsot(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return what a step takes of states with several taps."""
        return list_inputs[self.info.inner_inputs("mit_sot")]

    def inner_mitsot_grouped(self, list_inputs: Sequence[T]) -> list[list[T]]:
        """Return the same, a list for each state."""
        return grouped(self.inner_mitsot(list_inputs), self.info.mit_sot_in_slices)

    def oldest_inner_mitsot(self, list_inputs: Sequence[T]) -> list[T]:
        """Return the oldest value that a step takes of each of them."""
        groups = zip(self.inner_mitsot_grouped(list_inputs), self.info.mit_sot_in_slices, strict=True)
        return [group[taps.index(min(taps))] for group, taps in groups]

    def outer_mitsot(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return the buffers of these states."""
        return list_inputs[self.info.outer_inputs("mit_sot")]

    def inner_mitsot_outs(self, list_outputs: Sequence[T]) -> Sequence[T]:
        """Return what a step makes of these states."""
        return list_outputs[self.info.inner_outputs("mit_sot")]

    def outer_mitsot_outs(self, list_outputs: Sequence[T]) -> Sequence[T]:
        """Return these states among the outputs of a node."""
        return list_outputs[self.info.outer_outputs("mit_sot")]

    def inner_sitsot(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return what a step takes of states with one tap."""
        return list_inputs[self.info.inner_inputs("sit_sot")]

    def outer_sitsot(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return the buffers of these states."""
        return list_inputs[self.info.outer_inputs("sit_sot")]

    def inner_sitsot_outs(self, list_outputs: Sequence[T]) -> Sequence[T]:
        """Return what a step makes of these states."""
        return list_outputs[self.info.inner_outputs("sit_sot")]

    def outer_sitsot_outs(self, list_outputs: Sequence[T]) -> Sequence[T]:
        """Return these states among the outputs of a node."""
        return list_outputs[self.info.outer_outputs("sit_sot")]

    def outer_nitsot(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return how many rows are kept of each result that is no state."""
        return list_inputs[self.info.outer_inputs("nit_sot")]

    def inner_nitsot_outs(self, list_outputs: Sequence[T]) -> Sequence[T]:
        """Return a row of each of these results."""
        return list_outputs[self.info.inner_outputs("nit_sot")]

    def outer_nitsot_outs(self, list_outputs: Sequence[T]) -> Sequence[T]:
        """Return these results among the outputs of a node."""
        return list_outputs[self.info.outer_outputs("nit_sot")]

    def inner_untraced_sit_sot(
        self, list_inputs: Sequence[T], with_idx: bool = False
    ) -> Sequence[T] | tuple[tuple[int, T], ...]:
        """Return what a step takes of states of which the last value is kept; with their positions if asked for."""
        return _picked(list_inputs, self.info.inner_inputs("untraced"), with_idx)

    def outer_untraced_sit_sot(
        self, list_inputs: Sequence[T], with_idx: bool = False
    ) -> Sequence[T] | tuple[tuple[int, T], ...]:
        """Return what these states start with."""
        return _picked(list_inputs, self.info.outer_inputs("untraced"), with_idx)

    def inner_untraced_sit_sot_outs(
        self, list_outputs: Sequence[T], with_idx: bool = False
    ) -> Sequence[T] | tuple[tuple[int, T], ...]:
        """Return what a step makes of these states."""
        return _picked(list_outputs, self.info.inner_outputs("untraced"), with_idx)

    def outer_untraced_sit_sot_outs(
        self, list_outputs: Sequence[T], with_idx: bool = False
    ) -> Sequence[T] | tuple[tuple[int, T], ...]:
        """Return the last values of these states among the outputs of a node."""
        return _picked(list_outputs, self.info.outer_outputs("untraced"), with_idx)

    def inner_non_seqs(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return what is the same in all steps, among the inputs of the graph inside."""
        return list_inputs[self.info.inner_inputs("non_seqs").start :]

    def outer_non_seqs(self, list_inputs: Sequence[T]) -> Sequence[T]:
        """Return what is the same in all steps, among the inputs of a node."""
        return list_inputs[self.info.outer_inputs("non_seqs").start :]

    def get_oinp_iinp_iout_oout_mappings(self) -> dict[str, dict[int, int | list[int]]]:
        """Return which inputs and outputs of a node, and of the graph inside, belong together (see `mappings`)."""
        return mappings(self.info)


def _picked(variables: Sequence[T], places: slice, with_idx: bool) -> Sequence[T] | tuple[tuple[int, T], ...]:
    chosen = variables[places]
    return tuple(enumerate(chosen, places.start)) if with_idx else chosen


def flat(groups: Iterable[Sequence[Variable]]) -> list[Variable]:
    """Return the variables of groups, one after the other."""
    return list(chain.from_iterable(groups))
