"""The syntax of a function."""

from __future__ import annotations

import ast
import textwrap
from itertools import islice
from typing import TYPE_CHECKING

from treadle.config import lazy_module

if TYPE_CHECKING:
    import inspect
    import linecache
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any
else:
    inspect = lazy_module("inspect")
    linecache = lazy_module("linecache")


def syntax_of(function: Callable[..., Any]) -> ast.stmt:
    """Return the statement that defines a function, with the lines of its file.

    Raises
    ------
    OSError, TypeError
        If its source is not there.
    """
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    first = code.co_firstlineno
    try:
        found = _parsed(_block(islice(lines, first - 1, None)), first)
    except SyntaxError:  # the function goes on
        found = []
    if len(found) == 1 and isinstance(found[0], ast.FunctionDef) and found[0].name == code.co_name:
        return found[0]
    # This finds every function, and lambdas, but tokenizes the text in Python: a process's first kernel would wait 15
    # milliseconds.
    (statement,) = _parsed(*inspect.getsourcelines(function))
    return statement


def _parsed(lines: Iterable[str], first: int) -> list[ast.stmt]:
    return ast.parse("\n" * (first - 1) + textwrap.dedent("".join(lines))).body


def _block(lines: Iterable[str]) -> Iterator[str]:
    """Yield the first of some lines, the ``def`` after it, and all up to the next one that is not further right."""
    margin: int | None = None
    is_inside = False
    for line in lines:
        text = line.lstrip()
        indent = len(line) - len(text)
        margin = indent if margin is None else margin
        if text and indent <= margin and text[0] not in "#)]}":
            if is_inside:
                return
            is_inside = text.startswith("def ")
        yield line
