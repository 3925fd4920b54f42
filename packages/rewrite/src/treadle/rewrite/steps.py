"""The page of a run of rewriting: every change, before and after, to be clicked through."""

from __future__ import annotations

import html
import json
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from treadle.graph import Feature, FunctionGraph, debugprint
from treadle.rewrite.default import optdb
from treadle.rewrite.explanation import copy_of, rules_for

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable
    from treadle.rewrite.database import RewriteDatabase
    from treadle.rewrite.engine.interface import GraphRewriter
    from treadle.rewrite.query import RewriteDatabaseQuery

# A change is shown by the graph down to this depth.
_DEPTH = 6
# Of more changes, the first are shown.
MOST_STEPS = 2_000


class _Step(NamedTuple):
    """One change: the rule, and what was computed before and after, as text."""

    rule: str
    before: str
    after: str
    line: str


class _Recorder(Feature):
    """Writes down every change when it is made: later ones change the same nodes."""

    def __init__(self) -> None:
        self.steps: list[_Step] = []
        self.left_out = 0
        self._last: tuple[Variable, Variable] | None = None

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None
    ) -> None:
        """Write a change down, once for all nodes that used the variable."""
        if self._last is not None and self._last[0] is var and self._last[1] is new_var:
            return
        self._last = (var, new_var)
        if len(self.steps) >= MOST_STEPS:
            self.left_out += 1
            return
        line = var.user_line
        self.steps.append(_Step(str(reason or ""), _text(var), _text(new_var), "" if line is None else str(line)))


def _text(variable: Variable) -> str:
    text = debugprint(variable, depth=_DEPTH, print_type=True, file="str")
    return str(text).rstrip()


def steps_page(
    graph: object,
    query: RewriteDatabaseQuery | str = "fast_run",
    database: RewriteDatabase | None = None,
    *,
    title: str = "Rewriting, step by step",
) -> str:
    """Return an HTML page on which the changes that rules make to a graph are clicked through, before and after.

    It works offline, in any browser.

    Parameters
    ----------
    graph
        A variable, a list of variables or a FunctionGraph; it stays as it is.
    query, database
        As for `show_rewrites`.
    title
        Title of the page.

    Raises
    ------
    RewriterTypeError
        If something else is given than a graph.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> page = steps_page(tt.log(tt.exp(tt.dvector("x"))))
    >>> "log_of_exp" in page
    True
    """
    rewriter: GraphRewriter = (optdb if database is None else database).query(query)
    fgraph, _ = copy_of(graph)
    recorder = _Recorder()
    fgraph.attach_feature(recorder)
    before = len(list(fgraph.apply_nodes))
    report = rewriter.rewrite(fgraph)
    laws = {card.name: card.law for card in rules_for()}
    phases = {firing.rule: firing.phase for firing in report.firings}
    rows = [
        {
            "rule": step.rule,
            "phase": phases.get(step.rule, ""),
            "law": laws.get(step.rule, ""),
            "where": f"from {step.line}" if step.line else "",
            "before": step.before,
            "after": step.after,
        }
        for step in recorder.steps
    ]
    about = f"{len(rows)} changes took {before} nodes to {len(list(fgraph.apply_nodes))}."
    about += f" {recorder.left_out} more are not shown." if recorder.left_out else ""
    template = (resources.files("treadle.rewrite") / "assets" / "steps.html").read_text(encoding="utf-8")
    steps = json.dumps(rows, separators=(",", ":")).replace("<", "\\u003c")
    for name, value in {"TITLE": html.escape(title), "ABOUT": html.escape(about), "STEPS": steps}.items():
        template = template.replace(f"@{name}@", value)
    return template
