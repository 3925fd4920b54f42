"""The page of a profile: a flame graph and a timeline, which work offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Function, ProfileStats, function
from treadle.compile.profiling import page

if TYPE_CHECKING:
    from pathlib import Path

    from tools.browser import Browser


@pytest.fixture(scope="module")
def profiled() -> Function:
    x = tt.dmatrix("x")
    profile = ProfileStats(atexit_print=False)
    compute = function([x], tt.exp(x @ x).sum(), profile=profile, name="</script><b>model", mode="VM")
    for _ in range(3):
        compute(np.ones((20, 20)))
    return compute


def test_page_draws_both_pictures_and_asks_for_nothing(window: Browser, profiled: Function, tmp_path: Path) -> None:
    file = tmp_path / "profile.html"
    assert profiled.profile is not None
    profiled.profile.show().save(file)
    window.messages.clear()
    window.requests.clear()
    window.open(file)
    assert window.messages == []
    assert window.requests == [file.as_uri()]
    assert window.run("document.querySelector('h1').textContent") == "</script><b>model"
    flame = set(window.run("[...document.querySelectorAll('#flame title')].map((t) => t.textContent.split('\\n')[0])"))
    assert {"all", "rewriting", "</script><b>model"} <= flame
    calls = "EVENTS.filter((e) => e.cat === 'call').length"
    assert window.run(calls) == 3
    assert window.run("document.querySelectorAll('#timeline rect').length") > 3


def test_page_is_searched_and_looked_into(window: Browser, profiled: Function, tmp_path: Path) -> None:
    file = tmp_path / "profile.html"
    assert profiled.profile is not None
    profiled.profile.show().save(file)
    window.open(file)
    window.run("document.getElementById('find').focus()")
    window.type("matmul")
    assert window.run("document.getElementById('found').textContent").startswith("3 events, ")
    x, y = window.middle("#timeline")
    window.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    assert window.run("to - from < 0.8 * end")
    window.click_on("#time-out")
    assert window.run("to - from === end")
    window.run("focus = root.children.get('rewriting'), drawFlame()")
    assert window.run("document.querySelector('#flame title').textContent").startswith("rewriting\n")
    window.click_on("#flame-out")
    assert window.run("focus === root")


@pytest.mark.documents("ProfileStats.show")
def test_longest_events_are_kept(profiled: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    assert profiled.profile is not None
    monkeypatch.setattr(page, "MOST_EVENTS", 2)
    text = profiled.profile.show().text()
    assert "of which the longest 2 are shown." in text
    assert text.count('"cat":') == 2
    assert profiled.profile.show()._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
