"""Hide installed distributions: a process that does so first is as if they were not installed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.repo.tree import ROOT
from treadle.config import discovery

if TYPE_CHECKING:
    from collections.abc import Iterator


def hide(*distributions: str) -> None:
    """Let nothing of some distributions be found: neither their modules nor their entry points."""
    all_installed = discovery._installed_in

    def others(folder: str) -> Iterator[discovery._Installed]:
        return (item for item in all_installed(folder) if item.distribution not in distributions)

    discovery._installed_in = others
    for name in distributions:
        sys.path.remove(str(ROOT / "packages" / name / "src"))
