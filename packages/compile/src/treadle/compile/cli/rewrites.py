"""``treadle rewrites``: lists rules, and explains why one did not apply to an expression of a program."""

from __future__ import annotations

import json
import runpy
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.config import TreadleError
from treadle.graph import Apply, Variable, toposort
from treadle.rewrite import RewriteDatabaseQuery, looks_at, optdb, rules_for, show_rewrites, steps_page, why_not

if TYPE_CHECKING:
    import argparse
    from argparse import _SubParsersAction

    from rich.console import Console

    from treadle.compile.cli.parsing import Parser

# This many nodes are explained where a rule does not look at the variable's own.
MOST_NODES = 10


def add_parser(commands: _SubParsersAction[Parser]) -> None:
    """Add the sub-command to a parser's sub-commands."""
    rewrites = commands.add_parser("rewrites", help="the rules that rewrite graphs")
    actions = rewrites.add_subparsers(dest="action", required=True)
    list_parser = actions.add_parser("list", help="all rules, or those for an op, or with a tag")
    list_parser.add_argument("--op", help="name of an op or of a class of ops, such as exp or DimShuffle")
    list_parser.add_argument("--tag", help="only rules that carry the tag")
    list_parser.add_argument("--json", action="store_true", help="as JSON, for programs")
    show_parser = actions.add_parser("show", help="what there is to know about a rule, or which rules change a graph")
    show_parser.add_argument("subject", metavar="RULE_ID | FILE.py:VARIABLE")
    show_parser.add_argument("--include", default="fast_run", help="tags of the rules to run, separated by commas")
    show_parser.add_argument("--html", metavar="FILE", help="write a page on which the changes are clicked through")
    why_parser = actions.add_parser("why", help="why a rule does not apply to an expression")
    why_parser.add_argument("rule", metavar="RULE_ID")
    why_parser.add_argument("subject", metavar="FILE.py:VARIABLE")
    why_parser.add_argument("--include", default="fast_run", help="tags of the rules to run, separated by commas")


def run(console: Console, arguments: argparse.Namespace) -> int:
    """Run the sub-command; return its exit status."""
    if arguments.action == "list":
        return _list(console, arguments.op, arguments.tag, arguments.json)
    if arguments.action == "show":
        return _show(console, arguments.subject, arguments.include, arguments.html)
    return _why(console, arguments.rule, arguments.subject, arguments.include)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _list(console: Console, op: str | None, tag: str | None, as_json: bool) -> int:
    # A paragraph for each rule: a table would cut the ids, which are there to be copied.
    cards = rules_for(op, tag)
    if as_json:
        rows = [
            {
                "name": card.name,
                "law": card.law,
                "databases": list(card.databases),
                "tags": list(card.tags),
                "place": card.place,
            }
            for card in cards
        ]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    for card in cards:
        _say(console, f"{card.name}  ({', '.join(card.databases)}; {card.place})")
        _say(console, f"    {card.law}")
        _say(console, f"    tags: {', '.join(card.tags)}")
    _say(console, f"{len(cards)} rules")
    return 0


def _show(console: Console, subject: str, include: str, page: str | None) -> int:
    if ".py:" not in subject:
        member = optdb[subject]
        cards = [card for card in rules_for() if card.name == getattr(member, "name", subject)]
        for card in cards:
            _say(console, str(card))
        if not cards:
            _say(console, f"{subject} is a database of {len(member)} members: {', '.join(str(m) for m in member)}")
        return 0
    graph = _loaded(subject)
    if page is not None:
        return _write_page(graph, subject, include, Path(page))
    report = show_rewrites(graph, _query(include))
    _say(console, report.steps())
    _say(console, str(report))
    return 0


def _write_page(graph: Any, subject: str, include: str, page: Path) -> int:
    """Write the page of the changes to a graph; of a function, to the graph that it was made from."""
    maker = getattr(graph, "maker", None)
    variables = graph if maker is None else maker.create_fgraph()
    text = steps_page(variables, _query(include), title=f"Rewriting of {subject}")
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"rewrites: {page} cannot be written ({error.strerror}). Give another file."
        raise _SubjectError(msg) from error
    return 0


def _why(console: Console, rule: str, subject: str, include: str) -> int:
    value = _loaded(subject)
    target = value.owner if isinstance(value, Variable) else value
    if not isinstance(target, Apply):
        msg = f"rewrites why: {subject} must be a variable that an op computes, or a node, got {value!r}."
        raise _SubjectError(msg)
    query = _query(include)
    own = why_not(rule, target, query)
    if own.applied or not own.reason.startswith("it looks at"):
        _say(console, str(own))
        return 0
    # The rule does not look at the variable's node, but perhaps at those it is computed from.
    outputs, rewriter = list(target.outputs), optdb[rule]
    nodes = [node for node in toposort(outputs) if looks_at(rewriter, node)]
    below = [why_not(rule, node, query, graph=outputs) for node in nodes]
    for answer in below[:MOST_NODES] or [own]:
        _say(console, str(answer))
    if len(below) > MOST_NODES:
        _say(console, f"... and {len(below) - MOST_NODES} more nodes")
    return 0


class _SubjectError(TreadleError, ValueError):
    """What is named on the command line is not there, or of another kind."""


def _query(include: str) -> RewriteDatabaseQuery:
    """Return the query that asks for tags separated by commas."""
    return RewriteDatabaseQuery([tag.strip() for tag in include.split(",") if tag.strip()])


def _loaded(subject: str) -> Any:
    """Run a program and return one of its variables."""
    file, colon, name = subject.rpartition(":")
    if not colon:
        msg = f"rewrites: {subject!r} names no variable. Give FILE.py:VARIABLE."
        raise _SubjectError(msg)
    path = Path(file)
    if not path.is_file():
        msg = f"rewrites: there is no file {file!r}. Give FILE.py:VARIABLE."
        raise _SubjectError(msg)
    names = _run_program(path)
    if name not in names:
        usable = ", ".join(sorted(n for n, v in names.items() if isinstance(v, Variable) or hasattr(v, "maker")))
        msg = f"rewrites: {file} defines no {name!r}. Its variables and functions: {usable or 'none'}."
        raise _SubjectError(msg)
    return names[name]


def _run_program(path: Path) -> dict[str, object]:
    """Run a program and return its names; a `_SubjectError` with the program's line if it raises or exits."""
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return runpy.run_path(str(path))
    except (Exception, SystemExit) as error:
        msg = f"rewrites: {path} cannot be run: {_fault(path, error)}. Mend the program first."
        raise _SubjectError(msg) from error
    finally:
        sys.path.pop(0)


def _fault(path: Path, error: BaseException) -> str:
    """Return what went wrong in a program, with the innermost of its lines on the way."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{type(error).__name__} in line {error.lineno}: {error.msg}"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    place = f' in line {own[-1].lineno}, "{own[-1].line}"' if own else ""
    return f"{type(error).__name__}{place}: {str(error).rstrip('.')}"
