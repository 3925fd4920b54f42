"""Finding the evaluator: the function behind ``Variable.eval`` and inner graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import discover
from treadle.graph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable


class EvaluatorSlot:
    """The evaluator in use: the one `compile` offers where it is installed, else the Python VM's.

    Entry-point group ``treadle.evaluators``; the name ``vm`` comes last, so that any other wins over it.
    """

    __slots__ = ("_evaluate",)

    def __init__(self) -> None:
        self._evaluate: Callable[..., Any] | None = None

    def get(self) -> Callable[..., Any]:
        """Return ``evaluate(variable, values, mode, **kwargs)``.

        Raises
        ------
        GraphError
            If no installed distribution offers one.
        """
        if self._evaluate is None:
            found = discover("treadle.evaluators")
            names = sorted(found, key=lambda name: (name == "vm", name))
            if not names:
                msg = (
                    "eval: no installed distribution offers an evaluator. "
                    "Install `compile`, or sync the environment again if it was installed just now."
                )
                raise GraphError(msg)
            self._evaluate = found[names[0]].load()
        return self._evaluate

    def set(self, evaluate: Callable[..., Any] | None) -> None:
        """Use another evaluator; None looks it up again at the next use."""
        self._evaluate = evaluate


EVALUATOR = EvaluatorSlot()
