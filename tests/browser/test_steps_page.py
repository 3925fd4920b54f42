"""The page of a run of rewriting: its changes are clicked through, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as tt
from treadle.compile.command_line import main
from treadle.rewrite import steps, steps_page

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tools.browser import Browser

PROGRAM = """
import treadle.tensor as tt
from treadle.compile import function
x = tt.dvector("</script>")
y = tt.log(tt.exp(x)) * 1
f = function([x], y, mode="VM")
"""


def test_changes_are_clicked_through_and_searched(window: Browser, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(PROGRAM, encoding="utf-8")
    file = tmp_path / "steps.html"
    assert main(["rewrites", "show", f"{tmp_path / 'model.py'}:f", "--html", str(file)]) == 0
    window.messages.clear()
    window.requests.clear()
    window.open(file)
    assert (window.messages, window.requests) == ([], [file.as_uri()])
    rules = window.run("STEPS.map((step) => step.rule)")
    assert {"product_with_one", "log_of_exp"} <= set(rules)
    for _ in range(rules.index("log_of_exp")):
        window.click_on("#next")
    assert window.run("part('rule').textContent") == "log_of_exp"
    assert window.run("part('law').textContent").startswith("log(exp(x))")
    assert window.run("part('before').textContent").startswith("Log ")
    assert window.run("part('after').textContent").startswith("</script> ")
    window.run("part('find').focus()")
    window.type("log_of_exp")
    assert window.run("document.querySelectorAll('li').length") == 1


def test_page_keeps_the_first_of_many_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_STEPS", 1)
    x = tt.dvector("x")
    y = tt.log(tt.exp(x)) * 1
    text = steps_page(y)
    assert " more are not shown." in text
    assert text.count('"before":') == 1
    assert y.owner is not None
    assert str(y.owner.op) == "Mul"


def test_page_that_cannot_be_written_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.py").write_text(PROGRAM, encoding="utf-8")
    absent = tmp_path / "absent" / "steps.html"
    assert main(["rewrites", "show", f"{tmp_path / 'model.py'}:y", "--html", str(absent)]) == 2
    assert "cannot be written (No such file or directory)" in capsys.readouterr().err
