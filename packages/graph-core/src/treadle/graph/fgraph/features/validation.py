"""Checkpoints of a graph, and replacements that are undone if a feature refuses the result."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.config import TreadleWarning
from treadle.graph.errors import GraphValueError, InconsistencyError
from treadle.graph.fgraph.features.base import Feature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable


class History(Feature):
    """Feature that can undo changes.

    ``fgraph.checkpoint()`` returns a number, ``fgraph.revert(number)`` brings the graph back to that state exactly:
    nodes, clients and their order, inputs, outputs, update mapping and order of evaluation. Features attached at the
    time of the revert hear of each step back; which features are attached is left as it is. Checkpoints taken later
    than the one reverted to are gone.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> fgraph, history = treadle.graph.FunctionGraph([x, y], [x + y]), History()
    >>> fgraph.attach_feature(history)
    >>> before = fgraph.checkpoint()
    >>> fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])
    >>> fgraph.revert(before)
    >>> tt.pprint(fgraph.outputs[0])
    'x + y'
    """

    def __init__(self) -> None:
        # For each graph, the place in its journal of each checkpoint.
        self._marks: dict[FunctionGraph, dict[int, int]] = {}
        self._count = 0

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Begin an empty history, and install ``checkpoint`` and ``revert``."""
        self.install(fgraph, checkpoint=partial(self.checkpoint, fgraph), revert=partial(self.revert, fgraph))
        self._marks[fgraph] = {}
        fgraph.keep_journal(True)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget the history."""
        del self._marks[fgraph]
        fgraph.keep_journal(False)

    def clone(self) -> History:
        """Return a history for another graph."""
        return type(self)()

    def checkpoint(self, fgraph: FunctionGraph) -> int:
        """Return a number for the state of the graph."""
        self._count += 1
        self._marks[fgraph][self._count] = fgraph.journal_mark()
        return self._count

    def revert(self, fgraph: FunctionGraph, checkpoint: int) -> None:
        """Undo every change since the checkpoint.

        Raises
        ------
        GraphValueError
            If there is no such checkpoint, or the graph was reverted to an earlier one since.
        """
        marks = self._marks[fgraph]
        if checkpoint not in marks:
            msg = (
                f"revert: {checkpoint!r} is no checkpoint of this graph, or was taken after one that the graph was "
                "reverted to since. Pass what checkpoint() returned."
            )
            raise GraphValueError(msg)
        mark = marks[checkpoint]
        while (latest := next(reversed(marks))) > checkpoint:
            del marks[latest]
        fgraph.revert_journal(mark)

    def __getstate__(self) -> dict[str, object]:
        """Leave checkpoints out of pickles."""
        return {**self.__dict__, "_marks": {}}


class ReplacementDidNotRemoveError(InconsistencyError):
    """A replacement left something in the graph that it was to remove; it was undone."""


class Validator(Feature):
    """Feature that tells whether the graph is consistent: ``fgraph.consistent()``; ``fgraph.validate()`` raises.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> fgraph = treadle.graph.FunctionGraph([x, y], [x + y], features=[Validator()])
    >>> fgraph.validate()
    >>> fgraph.consistent()
    True
    """

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Install ``consistent``."""
        self.install(fgraph, consistent=partial(self.consistent, fgraph))

    def consistent(self, fgraph: FunctionGraph) -> bool:
        """Whether there is an order of evaluation and every feature accepts the graph."""
        try:
            fgraph.validate()
        except InconsistencyError:
            return False
        return True


class ReplaceValidate(History, Validator):
    """Feature that replaces and validates: a replacement that some feature refuses is undone exactly.

    It installs ``replace_validate``, ``replace_all_validate`` and ``replace_all_validate_remove``, and what `History`
    and `Validator` install. Every graph has these methods on demand; attached, the feature is cloned with the graph.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> fgraph = treadle.graph.FunctionGraph([x, y], [x + y], features=[ReplaceValidate()])
    >>> fgraph.replace_validate(fgraph.outputs[0], fgraph.inputs[0])
    >>> fgraph.outputs == [fgraph.inputs[0]]
    True
    """

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Install the methods."""
        self.install(
            fgraph,
            replace_validate=partial(self.replace_validate, fgraph),
            replace_all_validate=partial(self.replace_all_validate, fgraph),
            replace_all_validate_remove=partial(self.replace_all_validate_remove, fgraph),
        )
        Validator.on_attach(self, fgraph)
        History.on_attach(self, fgraph)

    def replace_validate(
        self, fgraph: FunctionGraph, r: Variable, new_r: Variable, reason: str | None = None, **kwargs: Any
    ) -> None:
        """Replace a variable if the graph stays valid (see `replace_all_validate`)."""
        self.replace_all_validate(fgraph, [(r, new_r)], reason, **kwargs)

    def replace_all_validate(
        self,
        fgraph: FunctionGraph,
        replacements: Iterable[tuple[Variable, Variable]],
        reason: str | None = None,
        verbose: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Replace variables, all or none, if the graph stays valid.

        Parameters
        ----------
        fgraph
            The graph.
        replacements
            Pairs of an old and a new variable.
        reason
            Told to the features.
        verbose
            Whether to print what is replaced.
        kwargs
            Passed on to `FunctionGraph.replace`.

        Raises
        ------
        InconsistencyError
            If a feature refuses the result, or it contains a cycle. The graph is as it was before.
        """
        fgraph.journal_mark()
        with fgraph.transaction():
            for r, new_r in replacements:
                fgraph.replace(r, new_r, reason, verbose, **kwargs)
            fgraph.validate()

    def replace_all_validate_remove(
        self,
        fgraph: FunctionGraph,
        replacements: Iterable[tuple[Variable, Variable]],
        remove: Iterable[Variable | Apply],
        reason: str | None = None,
        warn: bool = True,
        **kwargs: Any,
    ) -> bool:
        """Replace variables if the graph stays valid and some variables or nodes leave it with that.

        Parameters
        ----------
        fgraph, replacements, reason, kwargs
            As for `replace_all_validate`.
        remove
            What must not be in the graph afterwards.
        warn
            Whether to warn where something stayed.

        Returns
        -------
        Whether the replacements were made.

        Raises
        ------
        InconsistencyError
            If a feature refuses the result.
        """
        fgraph.journal_mark()
        try:
            with fgraph.transaction():
                self.replace_all_validate(fgraph, replacements, reason, **kwargs)
                _check_removed(fgraph, remove, reason)
        except ReplacementDidNotRemoveError as error:
            if warn:
                warnings.warn(str(error), TreadleWarning, stacklevel=2)
            return False
        return True


_HISTORY_METHODS = frozenset({"checkpoint", "revert"})
ON_DEMAND = _HISTORY_METHODS | {"consistent", "replace_validate", "replace_all_validate", "replace_all_validate_remove"}


def method_on_demand(fgraph: FunctionGraph, name: str) -> Callable[..., Any]:
    """Return a method of `ReplaceValidate` for a graph without it; for checkpoints a `History` is attached."""
    if name in _HISTORY_METHODS:
        fgraph.attach_feature(History())
        method: Callable[..., Any] = vars(fgraph)[name]
        return method
    return partial(getattr(ReplaceValidate(), name), fgraph)


def _check_removed(fgraph: FunctionGraph, items: Iterable[Variable | Apply], reason: str | None) -> None:
    for item in items:
        if item in fgraph:
            msg = (
                f"replace_all_validate_remove: {item} is still used after the replacement (reason: {reason}), which "
                "was undone. Replace its other users too."
            )
            raise ReplacementDidNotRemoveError(msg)
