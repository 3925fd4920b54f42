"""What a linker is told to write a graph as a library for programs without Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.graph import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph, Value, Variable

    Lengths = Callable[[Callable[[Sequence[Variable]], Sequence[Variable]]], FunctionGraph]


class ExportUnsupportedError(GraphError, NotImplementedError):
    """The backend cannot write graphs as libraries."""


@dataclass(frozen=True, slots=True)
class ExportedInput:
    """An input of the graph, as the library's user sees it.

    Parameters
    ----------
    name
        Its name; unique.
    role
        ``"input"``, ``"default"`` (an input with a value of its own) or ``"state"`` (a shared variable).
    value
        Its value at the time of the export, or None.
    """

    name: str
    role: str
    value: Value = None


@dataclass(frozen=True, slots=True)
class ExportedOutput:
    """An output of the graph.

    Parameters
    ----------
    name
        Its name; unique.
    updates
        Name of the input whose new value it is, or None.
    """

    name: str
    updates: str | None = None


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Names and roles of a graph's inputs and outputs, in the graph's order.

    Parameters
    ----------
    name
        Name of the function: prefix of what the library defines.
    inputs, outputs
        Their names and roles.
    lengths
        Takes a function that makes expressions of the expressions of the outputs, and returns the graph of what it
        makes, made of the graph before rewriting and rewritten on its own: for what needs less than the outputs, such
        as their lengths. None where there is no graph before rewriting.
    """

    name: str
    inputs: tuple[ExportedInput, ...]
    outputs: tuple[ExportedOutput, ...]
    lengths: Lengths | None = None
