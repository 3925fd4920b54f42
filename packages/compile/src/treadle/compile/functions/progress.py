"""The progress bar of compilations that take long, in terminals and notebooks, and where their spans are kept."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager, nullcontext
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from treadle.config import Spans, collecting, config, lazy_module, new_condition

if TYPE_CHECKING:
    import html
    from collections.abc import Iterator

    from rich import console as rich_console
    from rich import progress as rich_progress

    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.profiling.recording import FunctionRecord
else:
    html = lazy_module("html")
    rich_console = lazy_module("rich.console")
    rich_progress = lazy_module("rich.progress")

# A compilation is shown once it has taken PATIENCE seconds, and updated every INTERVAL seconds.
PATIENCE = 2.0
INTERVAL = 0.2


class _Compilation:
    """A running compilation."""

    __slots__ = ("begun", "spans", "task", "title")

    def __init__(self, title: str, spans: Spans) -> None:
        self.title = title
        self.spans = spans
        self.begun = monotonic()
        self.task: int | None = None  # its line in the display, once it is shown

    def text(self) -> str:
        """Return what the compilation is doing now."""
        path = self.spans.path
        return f"compiling {self.title}: {' / '.join(path)}" if path else f"compiling {self.title}"

    def share(self) -> tuple[int, int] | None:
        """Return how many steps are done, and how many there are: those of rewriting, and linking; None if unknown."""
        steps = self.spans.steps
        return None if steps is None else (steps[0], steps[1] + 1)


class Display(Protocol):
    """Where compilations are shown: a line for each."""

    def add(self, begun: float) -> int:
        """Begin a line for a compilation that began then, by `time.monotonic`, and return its number."""

    def update(self, line: int, text: str, share: tuple[int, int] | None) -> None:
        """Change a line; it is seen when the display is refreshed."""

    def refresh(self) -> None:
        """Draw the lines."""

    def remove(self, line: int) -> None:
        """Take a line away."""

    def stop(self) -> None:
        """Leave nothing behind."""


class TerminalDisplay:
    """Lines on stderr, with a bar each, below what the program prints."""

    def __init__(self) -> None:
        self._display = rich_progress.Progress(
            rich_progress.SpinnerColumn(),
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(bar_width=20),
            rich_progress.TaskProgressColumn(text_format_no_percentage=""),
            rich_progress.TimeElapsedColumn(),
            console=rich_console.Console(stderr=True),
            transient=True,
            auto_refresh=False,
            # Redirecting would catch what any thread prints.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._display.start()

    def add(self, begun: float) -> int:
        """Begin a line."""
        # Adding a visible task would draw it at once.
        task = self._display.add_task("", total=None, visible=False)
        next(each for each in self._display.tasks if each.id == task).start_time = begun
        return task

    def update(self, line: int, text: str, share: tuple[int, int] | None) -> None:
        """Change a line."""
        done, total = (0, None) if share is None else share
        task = rich_progress.TaskID(line)
        self._display.update(task, description=text, completed=done, total=total, visible=True)

    def refresh(self) -> None:
        """Draw the lines."""
        self._display.refresh()

    def remove(self, line: int) -> None:
        """Take a line away."""
        self._display.remove_task(rich_progress.TaskID(line))

    def stop(self) -> None:
        """Wipe what was drawn."""
        self._display.stop()


class NotebookDisplay:
    """Lines of HTML below the cell that runs, with a bar each."""

    def __init__(self) -> None:
        display: Any = import_module("IPython.display")  # only a notebook has it
        self._lines: dict[int, tuple[float, str, tuple[int, int] | None]] = {}
        self._html: Any = display.HTML
        self._handle: Any = display.display(display.HTML(""), display_id=True)

    def add(self, begun: float) -> int:
        """Begin a line."""
        line = max(self._lines, default=0) + 1
        self._lines[line] = (begun, "", None)
        return line

    def update(self, line: int, text: str, share: tuple[int, int] | None) -> None:
        """Change a line."""
        self._lines[line] = (self._lines[line][0], text, share)

    def refresh(self) -> None:
        """Draw the lines."""
        self._handle.update(self._html("".join(map(self._line, self._lines.values()))))

    @staticmethod
    def _line(line: tuple[float, str, tuple[int, int] | None]) -> str:
        begun, text, share = line
        values = "" if share is None else f' value="{share[0]}" max="{share[1]}"'
        seconds = int(monotonic() - begun)
        return f"<div><progress{values}></progress> {html.escape(text)} ({seconds} s)</div>"

    def remove(self, line: int) -> None:
        """Take a line away."""
        self._lines.pop(line, None)

    def stop(self) -> None:
        """Empty the output; a notebook that is saved keeps nothing of it."""
        self._lines.clear()
        self._handle.update(self._html(""))


class Progress:
    """Shows the compilations that take long, in whatever threads they run.

    A thread looks at them every `interval` seconds, and shows those that have taken `patience` seconds; compilations
    only enter themselves in its list.
    """

    def __init__(self, patience: float = PATIENCE, interval: float = INTERVAL) -> None:
        self._patience = patience
        self._interval = interval
        self._running: list[_Compilation] = []
        self._changed = new_condition()
        self._watcher: threading.Thread | None = None
        self._registered = False
        self._display: Display | None = None

    @contextmanager
    def showing(self, title: str, spans: Spans) -> Iterator[None]:
        """Show the compilation in the block, if it takes long; it is gone from the screen when the block ends."""
        entry = _Compilation(title, spans)
        self._enter(entry)
        try:
            yield
        finally:
            self._leave(entry)

    @property
    def shown(self) -> tuple[str, ...]:
        """Texts of the compilations on the screen."""
        with self._changed:
            return tuple(entry.text() for entry in self._running if entry.task is not None)

    @property
    def watching(self) -> bool:
        """Whether the thread runs."""
        return self._watcher is not None

    def _enter(self, entry: _Compilation) -> None:
        with self._changed:
            if not self._registered and hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._forget)
            self._registered = True
            self._running.append(entry)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="treadle progress", daemon=True)
                self._watcher.start()

    def _forget(self) -> None:
        """Drop what belongs to the parent process: its thread and display."""
        self._running, self._watcher, self._display = [], None, None

    def _leave(self, entry: _Compilation) -> None:
        with self._changed:
            if entry in self._running:
                self._running.remove(entry)
            if entry.task is not None and self._display is not None:
                self._display.remove(entry.task)
                if not any(other.task is not None for other in self._running):
                    self._display.stop()
                    self._display = None

    def _watch(self) -> None:
        while True:
            with self._changed:
                if not self._running:
                    self._watcher = None
                    return
                wait = min(entry.begun for entry in self._running) + self._patience - monotonic()
                if wait > 0:
                    self._changed.wait(wait)
                    continue
            # Reading an attribute imports the module, which takes long: without the lock, so that nobody waits for it.
            if not is_notebook():
                _ = rich_progress.Progress, rich_console.Console
            with self._changed:
                self._look()
                self._changed.wait(self._interval)

    def _look(self) -> None:
        """Show the compilations that have taken long, as they are now."""
        now = monotonic()
        for entry in self._running:
            if now - entry.begun >= self._patience:
                self._show(entry)
        if self._display is not None:
            self._display.refresh()

    def _show(self, entry: _Compilation) -> None:
        if self._display is None:
            self._display = NotebookDisplay() if is_notebook() else TerminalDisplay()
        if entry.task is None:
            entry.task = self._display.add(entry.begun)
        self._display.update(entry.task, entry.text(), entry.share())


PROGRESS = Progress()


def is_wanted() -> bool:
    """Whether long compilations are shown: option ``progress``, and only in a notebook or a terminal at stderr."""
    return bool(config.progress) and (_is_terminal(sys.stderr) or is_notebook())


def is_notebook() -> bool:
    """Whether the process is the kernel of a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _is_terminal(stream: object) -> bool:
    """Whether a stream, which may be None, closed, or any object, is a terminal."""
    asks = getattr(stream, "isatty", None)
    return asks is not None and not getattr(stream, "closed", False) and bool(asks())


@contextmanager
def watched(maker: FunctionMaker) -> Iterator[FunctionRecord | None]:
    """Compile in the block: timed for the maker's profile, whose record is yielded, and shown if it takes long."""
    title = maker.name or "a function"
    if maker.profile is None and not is_wanted():
        yield None
        return
    if maker.profile is None:
        spans = Spans()
        with collecting(spans), PROGRESS.showing(title, spans):
            yield None
        return
    with (
        maker.profile.compiling(maker) as record,
        PROGRESS.showing(title, record.spans) if is_wanted() else nullcontext(),
    ):
        yield record
