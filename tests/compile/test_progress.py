"""The progress bar of long compilations."""

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.compile.functions import progress
from treadle.compile.functions.maker import FunctionMaker
from treadle.compile.functions.progress import PROGRESS, Progress
from treadle.config import Spans, collecting, config, counted, span


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def terminal_for(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Let stderr be a terminal; not in a fixture, since pytest puts its own stderr there when the test begins."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return stream


def wait_until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_long_compilation_is_shown_with_its_phase_and_then_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    shown = Progress(patience=0.01, interval=0.01)
    spans = Spans()
    with shown.showing("model", spans), collecting(spans), span("rewriting"), span("canonicalize"):
        wait_until(lambda: shown.shown == ("compiling model: rewriting / canonicalize",))
        wait_until(lambda: "canonicalize" in terminal.getvalue())
    assert shown.shown == ()
    text = terminal.getvalue()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is hidden, and back again
    assert text.endswith("\x1b[2K\x1b[?25h\r")  # the line is wiped


def test_time_counts_from_the_beginning_of_the_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    shown = Progress(patience=1.05, interval=0.01)
    with shown.showing("model", Spans()):
        wait_until(lambda: "compiling model" in terminal.getvalue())
    assert "0:00:00" not in terminal.getvalue()
    assert "0:00:0" in terminal.getvalue()


def test_short_compilation_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    shown = Progress(patience=5, interval=0.01)
    with shown.showing("model", Spans()):
        time.sleep(0.05)
    assert shown.shown == ()
    assert terminal.getvalue() == ""


def test_terminal_is_left_in_order_when_a_compilation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    shown = Progress(patience=0.01, interval=0.01)
    spans = Spans()

    def compile_and_fail() -> None:
        with shown.showing("model", spans), collecting(spans), span("linking"):
            wait_until(lambda: shown.shown)
            msg = "no"
            raise ValueError(msg)

    with pytest.raises(ValueError, match="no"):
        compile_and_fail()
    text = terminal.getvalue()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    assert spans.path == ()
    with shown.showing("another", spans):
        wait_until(lambda: shown.shown == ("compiling another",))
    assert shown.shown == ()


def test_compilations_in_several_threads_share_one_display(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    shown = Progress(patience=0.01, interval=0.01)
    all_there, done = threading.Barrier(4), threading.Event()

    def work(k: int) -> None:
        with shown.showing(f"model {k}", Spans()):
            all_there.wait()
            done.wait(20)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    all_there.wait()
    wait_until(lambda: len(shown.shown) == 3)
    done.set()
    for thread in threads:
        thread.join()
    assert shown.shown == ()
    text = terminal.getvalue()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")


def test_watching_thread_ends_when_nothing_is_left_to_watch() -> None:
    shown = Progress(patience=0.05, interval=0.01)
    for _ in range(3):
        with shown.showing("model", Spans()):
            pass
    wait_until(lambda: not shown.watching)


def watched_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    titles: list[str] = []
    plain = Progress.showing

    def showing(self: Progress, title: str, spans: Spans) -> Any:
        titles.append(title)
        return plain(self, title, spans)

    monkeypatch.setattr(Progress, "showing", showing)
    return titles


@pytest.mark.documents("option:progress")
def test_compilations_are_watched_on_terminals_only_and_unless_silenced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal, titles = terminal_for(monkeypatch), watched_by(monkeypatch)
    x = tt.dvector("x")
    function([x], tt.exp(x), mode="VM", name="shown")
    with config.change_flags(progress=False):
        function([x], tt.exp(x), mode="VM", name="silenced")
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    function([x], tt.exp(x), mode="VM", name="into a file")
    for without in (None, object()):
        monkeypatch.setattr(sys, "stderr", without)
        function([x], tt.exp(x), mode="VM", name="without stderr")
    closed = Terminal()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    function([x], tt.exp(x), mode="VM", name="closed stderr")
    assert titles == ["shown"]


def test_function_that_takes_long_is_shown_while_it_is_linked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal_for(monkeypatch)
    monkeypatch.setattr(PROGRESS, "_patience", 0.01)
    monkeypatch.setattr(PROGRESS, "_interval", 0.01)
    x = tt.dvector("x")
    seen: list[tuple[str, ...]] = []

    class Slow(FunctionMaker):
        def link(self, fgraph: Any) -> Any:
            wait_until(lambda: progress.PROGRESS.shown)
            seen.append(progress.PROGRESS.shown)
            return super().link(fgraph)

    f = Slow([x], [tt.exp(x)], mode="VM", name="slow").create()
    assert seen == [("compiling slow: linking",)]
    assert f([0.0])[0].tolist() == [1.0]
    assert progress.PROGRESS.shown == ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forked_process_can_compile_while_its_parent_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_for(monkeypatch)
    shown = Progress(patience=0.01, interval=0.01)
    with shown.showing("parent", Spans()):
        wait_until(lambda: shown.shown)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with shown.showing("child", Spans()):
                    wait_until(lambda: shown.shown == ("compiling child",))
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
    assert status == 0


def test_share_that_is_done_is_shown_where_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    shown = Progress(patience=0.01, interval=0.01)
    spans = Spans()
    with shown.showing("model", spans), collecting(spans):
        wait_until(lambda: shown.shown)
        assert "%" not in terminal.getvalue()
        for step in counted(range(3)):  # with linking, four steps
            if step == 2:
                wait_until(lambda: "50%" in terminal.getvalue())
        wait_until(lambda: "75%" in terminal.getvalue())


def test_rewriting_tells_how_many_of_its_phases_are_done() -> None:
    x = tt.dvector("x")
    spans = Spans()
    with collecting(spans):
        FunctionMaker([x], [tt.exp(x) + 1], mode="VM").make()
    assert spans.steps is not None
    done, total = spans.steps
    assert done == total > 3


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Let the process be the kernel of a notebook; yield what it shows."""
    shells = pytest.importorskip("IPython.core.interactiveshell")
    capturing = pytest.importorskip("IPython.core.displaypub")
    shell = shells.InteractiveShell.instance()
    publisher = capturing.CapturingDisplayPublisher()
    monkeypatch.setattr(shell, "display_pub", publisher)
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    yield publisher.outputs
    shells.InteractiveShell.clear_instance()


def test_notebook_shows_long_compilations_and_keeps_nothing_of_them(notebook: list[dict[str, Any]]) -> None:
    shown = Progress(patience=0.01, interval=0.01)
    spans = Spans()
    assert progress.is_wanted()
    with shown.showing("<model>", spans), collecting(spans), span("rewriting"):
        for step in counted(range(3)):
            if step == 2:
                wait_until(lambda: any('value="2" max="4"' in text["data"]["text/html"] for text in notebook))
    texts = [each["data"]["text/html"] for each in notebook]
    assert any("compiling &lt;model&gt;: rewriting" in text for text in texts)
    assert texts[-1] == ""
    assert len({each["transient"]["display_id"] for each in notebook}) == 1


def test_notebook_is_told_from_other_uses_of_ipython() -> None:
    assert not progress.is_notebook()


@pytest.mark.parametrize("setting", ["off", "OFF", False, "0"])
def test_progress_can_be_switched_off_in_words(setting: object) -> None:
    with config.change_flags(progress=setting):
        assert config.progress is False


def test_nothing_is_done_for_progress_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(progress, "Spans", lambda: made.append(1))
    monkeypatch.setattr(Progress, "_enter", lambda *_: made.append(2))
    x = tt.dvector("x")
    function([x], tt.exp(x), mode="VM", name="into a file")
    with config.change_flags(progress="off"):
        terminal_for(monkeypatch)
        function([x], tt.exp(x), mode="VM", name="silenced")
    assert made == []
