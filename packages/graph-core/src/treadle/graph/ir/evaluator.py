"""Finding the evaluator: the function behind ``Variable.eval`` and inner graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import discover
from treadle.graph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph.ir.values import Compute


class EvaluatorSlot:
    """The evaluator in use: the one `compile` offers where it is installed, else the Python VM's.

    Entry-point group ``treadle.evaluators``; the name ``vm`` comes last, so that any other wins over it.
    """

    __slots__ = ("_evaluate",)

    def __init__(self) -> None:
        self._evaluate: Callable[..., object] | None = None

    def get(self) -> Compute:
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

    def set(self, evaluate: Callable[..., object] | None) -> None:
        """Use another evaluator; None looks it up again at the next use."""
        self._evaluate = evaluate


EVALUATOR = EvaluatorSlot()


class InnerCompilerSlot:
    """What makes functions of inner graphs: the Python VM, unless another is set."""

    __slots__ = ("_compile",)

    def __init__(self) -> None:
        self._compile: Callable[[object], Callable[..., object]] | None = None

    def get(self) -> Callable[[Any], Compute]:
        """Return ``compile(fgraph)``, whose result takes and returns one value for each input and output.

        Raises
        ------
        GraphError
            If no backend named ``vm`` is installed.
        """
        if self._compile is None:
            found = discover("treadle.backends")
            if "vm" not in found:
                msg = (
                    "compile_inner: the distribution graph-core is not installed properly, its backend vm is missing. "
                    "Sync the environment again."
                )
                raise GraphError(msg)
            backend = found["vm"].load()
            self._compile = lambda fgraph: backend.linker().link(fgraph)
        return self._compile

    def set(self, compile_: Callable[[object], Callable[..., object]] | None) -> None:
        """Use another compiler; None returns to the Python VM."""
        self._compile = compile_


INNER_COMPILER = InnerCompilerSlot()


def compile_inner(fgraph: object) -> Compute:
    """Return an inner graph as a function, made by whatever `INNER_COMPILER` holds.

    Parameters
    ----------
    fgraph
        A FunctionGraph, which must not be changed afterwards.
    """
    return INNER_COMPILER.get()(fgraph)
