"""A real browser for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools.browser import INSTALL, Browser, chromium

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

READY = "['ready', 'failed'].includes(document.documentElement.dataset.state)"


@pytest.fixture(scope="session")
def window() -> Iterator[Browser]:
    """One browser for all tests of a process."""
    if chromium() is None:
        pytest.skip(INSTALL)
    with Browser(1400, 900) as browser:
        yield browser


@pytest.fixture
def show(window: Browser, tmp_path: Path) -> Iterator[Callable[[str], Browser]]:
    """Open a page and wait until it is drawn; at the end, check that it requested nothing and reported no error."""

    def opened(page: str) -> Browser:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        window.messages.clear()
        window.requests.clear()
        window.open(path)
        window.wait(READY)
        return window

    yield opened
    assert window.messages == []
    outside = [address for address in window.requests if not address.startswith(("file:", "blob:", "data:", "about:"))]
    assert outside == []
    assert sum(address.startswith("file:") for address in window.requests) == 1
