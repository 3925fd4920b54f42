"""Validation: replacements that are undone where a feature refuses the graph that they make."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.config import TreadleWarning
from treadle.graph.errors import InconsistencyError
from treadle.graph.fgraph.features.base import Feature
from treadle.graph.fgraph.features.history import History

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable


class ReplacementDidNotRemoveError(InconsistencyError):
    """A replacement left something in the graph that it was to remove; it was undone."""


class Validator(Feature):
    """Feature that tells whether the graph is consistent: ``fgraph.consistent()``; ``fgraph.validate()`` raises."""

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
    and `Validator` install.
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


def _check_removed(fgraph: FunctionGraph, items: Iterable[Variable | Apply], reason: str | None) -> None:
    for item in items:
        if item in fgraph:
            msg = (
                f"replace_all_validate_remove: {item} is still used after the replacement (reason: {reason}), which "
                "was undone. Replace its other users too."
            )
            raise ReplacementDidNotRemoveError(msg)
