"""Errors that nothing catches are shown without treadle's own frames; errors themselves have all of them."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from typing import Any

import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config, tracebacks
from treadle.graph import NodeValueError
from treadle.tensor import ShapeError

MODEL = "import treadle.tensor as tt\ndef model(x):\n    return x @ tt.ones((2, 3))\nmodel(tt.ones((2, 3)))\n"
MESSAGE = (
    "treadle.tensor.errors.ShapeError: matmul: the inner lengths must be equal, got shapes (2, 3) and (2, 3) "
    "(3 and 2). Transpose one of the two, or check their shapes."
)
IN_THREAD = """
import sys, threading
import treadle.tensor as tt
def work():
    tt.sum(tt.dmatrix("x"), axis=2)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
IN_IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "nocolor")
shell.run_cell({model!r})
"""


def shown(program: str, flags: str = "") -> str:
    """Return what a program writes about the error that ends it."""
    settings = f"import os; os.environ['TREADLE_FLAGS'] = {flags!r}\n"
    command = [sys.executable, "-W", "ignore", "-c", settings + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_traceback_of_a_program_ends_at_the_users_line() -> None:
    text = shown(MODEL)
    assert [line for line in text.splitlines() if line.startswith("  File")] == [
        '  File "<string>", line 5, in <module>',
        '  File "<string>", line 4, in model',
    ]
    assert text.endswith(f"{MESSAGE}\nmore: treadle explain ShapeError\n")


def test_option_shows_all_frames() -> None:
    text = shown(MODEL, "traceback__filtering=off")
    assert "in infer" in text
    assert text.endswith(f"{MESSAGE}\nmore: treadle explain ShapeError\n")


def test_threads_show_the_users_line_too() -> None:
    text = shown(IN_THREAD)
    assert "in work" in text
    assert "normalize_ax" not in text
    assert text.endswith("more: treadle explain AxisError\n")


def test_ipython_shows_the_users_lines_alone() -> None:
    pytest.importorskip("IPython")
    text = shown(IN_IPYTHON.format(model=MODEL))
    assert "in model(x)" in text
    assert "in infer" not in text
    assert text.rstrip().endswith("more: treadle explain ShapeError")


def test_other_errors_are_shown_as_always() -> None:
    caught = "try:\n    import treadle.tensor as tt; tt.sum(tt.dmatrix('x'), axis=2)\nexcept ValueError: pass\n"
    text = shown(f"{caught}1 / 0")
    assert text.endswith("ZeroDivisionError: division by zero\n")
    assert "treadle explain" not in text


def raised(program: Any) -> Exception:
    try:
        program()
    except Exception as error:  # noqa: BLE001 - the subject of the test
        return error
    pytest.fail("nothing was raised")


def test_errors_keep_their_frames_and_their_cause() -> None:
    x, y = tt.dvectors("x", "y")
    add = function([x, y], x + y, mode="VM")
    error = raised(lambda: add([1.0, 2.0], [1.0, 2.0, 3.0]))
    assert isinstance(error, NodeValueError)
    trace, cause = error.__traceback__, error.__cause__
    assert cause is not None
    with tracebacks.as_shown(error):
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        assert set(files) == {__file__}
        assert error.__cause__ is None  # NumPy's error, which the message has the words of
        assert error.__suppress_context__
    assert error.__traceback__ is trace
    assert error.__cause__ is cause


def test_cause_with_a_line_of_the_users_is_shown() -> None:
    def refuse() -> None:
        try:
            os.environ["TREADLE_ABSENT"]
        except KeyError as origin:
            msg = "theirs"
            raise ShapeError(msg) from origin

    error = raised(refuse)
    with tracebacks.as_shown(error):
        assert isinstance(error.__cause__, KeyError)


def test_error_without_a_line_of_the_users_keeps_its_frames() -> None:
    error = ShapeError("bad")
    with tracebacks.as_shown(error):
        assert error.__traceback__ is None
    assert tracebacks.shortened(None) is None


def test_page_is_told_once_and_only_where_an_error_is_shown() -> None:
    error = raised(lambda: tt.ones((2, 3)) @ tt.ones((2, 3)))
    assert not hasattr(error, "__notes__")
    for _ in range(2):
        tracebacks.tell_page(error)
    assert error.__notes__ == ["more: treadle explain ShapeError"]

    class OwnError(ShapeError):
        pass

    assert tracebacks.page_of(OwnError("bad")) == "ShapeError"
    assert tracebacks.page_of(ValueError("bad")) == ""


def test_settings_that_are_wrong_leave_frames_out() -> None:
    with config.change_flags(traceback__filtering="off"):
        assert not tracebacks.is_wanted()
    assert tracebacks.is_wanted()
