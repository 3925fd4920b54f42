"""Hide the distribution pytensor-surface: a process that imports this first is as if it were not installed.

``python -m pytest -p tests.repo.without_surface FOLDER`` runs tests so; those of what it brings then fail.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.repo.tree import ROOT
from treadle.config import discovery

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN = "pytensor-surface"
_all_installed = discovery._installed


def _others(folders: Iterator[str]) -> Iterator[discovery._Installed]:
    return (item for item in _all_installed(folders) if item.distribution != HIDDEN)


discovery._installed = _others
sys.path.remove(str(ROOT / "packages" / HIDDEN / "src"))
