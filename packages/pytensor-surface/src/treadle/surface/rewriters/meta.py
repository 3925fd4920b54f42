"""A rewriter of nodes that measures alternatives, and takes the one that runs fastest."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from time import perf_counter
from typing import TYPE_CHECKING

from treadle.config import config
from treadle.graph import Constant, FunctionGraph
from treadle.link import vm
from treadle.rewrite import NodeRewriter, looks_at
from treadle.rewrite.engine.run import replacements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Variable
    from treadle.rewrite.engine.tracked import Tracked


# The time of an alternative is the least of this many calls.
CALLS = 3


class MetaNodeRewriter(NodeRewriter):
    """Times the alternatives that several rewriters offer for a node, and the node itself, and takes the fastest.

    Inputs have their test values, or else samples of their types. Option ``metaopt__verbose`` asks it to tell about
    nodes for which no alternative could be run (1), and about every time measured (2).

    Parameters
    ----------
    tracks
        Ops and classes of ops it looks at; every node if None.
    rewriters
        Rewriters of nodes that make the alternatives.
    name
        Its id.
    """

    depth = 1

    def __init__(self, tracks: Sequence[Tracked] | None, rewriters: Sequence[NodeRewriter], name: str = "meta") -> None:
        self.rewriters = tuple(rewriters)
        self.name = name
        self._tracks = None if tracks is None else tuple(tracks)

    def tracks(self) -> Sequence[Tracked] | None:
        """Return the ops and classes of ops it looks at."""
        return self._tracks

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
        """Return the fastest alternative, or None where that is the node itself."""
        verbose = int(config.metaopt__verbose)
        if not looks_at(self, node):
            return None
        values = _values(node)
        if values is None:
            _say(verbose >= 1, f"{self.name}: {node.op}{node.where()} has inputs without test value or sample")
            return None
        best, chosen = _seconds(node, node.outputs, values), None
        _say(verbose >= 2, f"{self.name}: {node.op}{node.where()} as it is: {_shown(best)}")
        any_ran = False
        for rewriter in self.rewriters:
            result = rewriter.transform(fgraph, node) if looks_at(rewriter, node) else None
            if result is None or result is False:
                continue
            pairs = dict(replacements(str(rewriter), node, result)[0])
            outputs = [pairs.get(out, out) for out in node.outputs]
            seconds = _seconds(node, outputs, values)
            any_ran = any_ran or seconds is not None
            _say(verbose >= 2, f"{self.name}: {node.op} by {rewriter}: {_shown(seconds)}")
            if seconds is not None and (best is None or seconds < best):
                best, chosen = seconds, outputs
        _say(verbose >= 1 and not any_ran, f"{self.name}: {node.op}{node.where()} has no alternative that runs")
        return chosen


def _values(node: Apply) -> list[object] | None:
    """Return values of a node's inputs, or None where one has none."""
    values: list[object] = []
    for x in node.inputs:
        if isinstance(x, Constant):
            values.append(x.data)
            continue
        if x._tag is not None and hasattr(x.tag, "test_value"):
            values.append(x.tag.test_value)
            continue
        try:
            values.append(x.type.sample(0))
        except TypeError:
            return None
    return values


def _seconds(node: Apply, outputs: Sequence[Variable], values: Sequence[object]) -> float | None:
    """Return the seconds that outputs take to compute from a node's inputs, or None where that fails."""
    value_of = {x: v for x, v in zip(node.inputs, values, strict=True) if not isinstance(x, Constant)}
    vm.TABLE.load()
    try:
        program = vm.PythonLinker().link(FunctionGraph(list(value_of), list(outputs)))
        times = []
        with (vm.TABLE.scope or nullcontext)():
            for _ in range(CALLS):
                copies = [x.type.copy_value(v) for x, v in value_of.items()]
                start = perf_counter()
                program(*copies)
                times.append(perf_counter() - start)
    except (ArithmeticError, LookupError, NotImplementedError, TypeError, ValueError):
        return None
    return min(times)


def _shown(seconds: float | None) -> str:
    return "cannot be run" if seconds is None else f"{seconds * 1e6:.1f} us"


def _say(enabled: bool, text: str) -> None:
    if enabled:
        sys.stdout.write(f"{text}\n")
