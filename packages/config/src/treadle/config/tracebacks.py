"""Tracebacks that end at the user's line: how errors of treadle's are shown where nothing catches them.

Errors carry their whole traceback: debuggers, logs and tests see every frame. Only what Python or IPython prints of an
error that reaches the prompt, or ends a program, leaves treadle's own frames out, unless the option
``traceback__filtering`` is off. This module is imported when the first error is made: code that raises none pays
nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any

from treadle.config.errors import TreadleError
from treadle.config.messages.places import is_installed_file, is_library_file, is_own_module
from treadle.config.settings import config

if TYPE_CHECKING:
    from collections.abc import Iterator

# The folder of the pages that `treadle explain` prints, in the package with the command.
_PAGES = "explanations"
# Chains of causes may be of any length, and circular.
_MOST_CAUSES = 50


def is_wanted() -> bool:
    """Whether frames are left out: the option ``traceback__filtering``, on where no distribution declares it."""
    try:
        return bool(config.traceback__filtering != "off")
    except TreadleError:  # the error to be shown may be that settings are wrong
        return True


def shortened(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without treadle's frames, and those of libraries that these called; None if none is left."""
    kept: list[TracebackType] = []
    inside, current = False, trace
    while current is not None:
        code = current.tb_frame.f_code
        if is_own_module(current.tb_frame.f_globals.get("__name__")) or code.co_filename.startswith("<treadle"):
            inside = True
        elif not (inside and _is_library(code.co_filename)):
            kept.append(current)
            inside = False
        current = current.tb_next
    rest: TracebackType | None = None
    for each in reversed(kept):
        rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest


def _is_library(file: str) -> bool:
    return file.startswith("<frozen") or is_installed_file(file) or is_library_file(file)


def page_of(error: BaseException) -> str:
    """Return the name by which `treadle explain` knows an error, an empty string where it has no page."""
    spec = find_spec("treadle.compile")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    for kind in type(error).__mro__:
        if is_own_module(kind.__module__) and any(_has_page(folder, kind.__name__) for folder in folders):
            return kind.__name__
    return ""


def _has_page(folder: str, name: str) -> bool:
    return os.path.isfile(os.path.join(folder, _PAGES, f"{name}.md"))  # noqa: PTH113, PTH118 - pathlib loads slowly


@contextmanager
def as_shown(error: BaseException) -> Iterator[None]:
    """In the block, the error and what caused it have the tracebacks that are shown; afterwards the whole ones again.

    A cause without a frame of the user's is left out: the message of the error says what it was. An error whose frames
    are all treadle's keeps them.
    """
    before: list[tuple[BaseException, Any, Any, Any, bool]] = []
    current: BaseException | None = error
    while current is not None and len(before) < _MOST_CAUSES and all(current is not each[0] for each in before):
        saved = current.__traceback__, current.__cause__, current.__context__, current.__suppress_context__
        before.append((current, *saved))
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    try:
        for each, trace, cause, context, suppressed in before:
            each.__traceback__ = shortened(trace) or trace
            origin = cause or (None if suppressed else context)
            if isinstance(each, TreadleError) and origin is not None and shortened(origin.__traceback__) is None:
                each.__cause__ = None  # this suppresses the context too
        yield
    finally:
        for each, trace, cause, context, suppressed in before:
            each.__traceback__, each.__cause__, each.__context__ = trace, cause, context
            each.__suppress_context__ = suppressed


def tell_page(error: BaseException) -> None:
    """Add to an error that is about to be shown which page explains it, once."""
    page = page_of(error)
    note = f"more: treadle explain {page}"
    if page and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


@contextmanager
def _showing(error: BaseException | None) -> Iterator[None]:
    if not isinstance(error, TreadleError):
        yield
        return
    tell_page(error)
    if not is_wanted():
        yield
        return
    with as_shown(error):
        yield


def install() -> None:
    """Let Python show errors of treadle's so, at the prompt, at the end of a program and of a thread."""
    show, show_in_thread = sys.excepthook, threading.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        with _showing(error):
            show(kind, error, error.__traceback__ if isinstance(error, TreadleError) else trace)

    def thread_excepthook(args: Any) -> None:
        with _showing(args.exc_value):
            show_in_thread(args)

    sys.excepthook = excepthook
    threading.excepthook = thread_excepthook


def rendered_in_ipython(error: BaseException) -> list[str]:
    """Return the lines that IPython shows for an error; called by IPython alone, through the error's method."""
    shell: Any = sys.modules["IPython"].get_ipython()
    with _showing(error):
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
    return lines
