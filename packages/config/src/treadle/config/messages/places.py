"""Whose code a module or a file is: treadle's, Python's, an installed package's, or the user's."""

import os
import sys
from collections.abc import Iterable

from treadle.config.owners import PACKAGES

_SITES = ("site-packages", "dist-packages")


def is_own_module(module: object) -> bool:
    """Whether a module's name is that of one of treadle's own; None, for a namespace without a name, is not.

    >>> is_own_module("treadle.tensor.shape"), is_own_module("treadle.contrib.shape"), is_own_module(None)
    (True, False, False)
    """
    if not isinstance(module, str) or not module.startswith("treadle."):
        return False
    parts = module.split(".", 3)
    return parts[1] in PACKAGES or ".".join(parts[1:3]) in PACKAGES


def is_own_file(file: str) -> bool:
    """Whether a file belongs to one of treadle's own packages that is loaded, wherever these are."""
    return _is_below(file, _own_folders())


def is_installed_file(file: str) -> bool:
    """Whether a file lies where Python looks for installed packages: a folder of the search path made for these."""
    return _is_below(file, _sites())


def is_library_file(file: str) -> bool:
    """Whether a file is one of Python's own library."""
    return _is_below(file, (_parent(os.__file__),)) and not is_installed_file(file)


def is_foreign_file(file: str) -> bool:
    """Whether a file is not the user's: it is treadle's, an installed package's, or one of Python's own library."""
    # In one question, since links are followed only for a file that is in none of the folders as they are written.
    return _is_below(file, (*_sites(), _parent(os.__file__), *_own_folders()))


def _sites() -> list[str]:
    return [folder for folder in sys.path if os.path.basename(folder.rstrip("/\\")) in _SITES]  # noqa: PTH119


def _own_folders() -> list[str]:
    """Return the folders of the loaded packages, those included that other distributions bring modules of them in."""
    loaded = (sys.modules.get(f"treadle.{name}") for name in PACKAGES)
    return [folder for package in loaded for folder in getattr(package, "__path__", ())]


def _is_below(file: str, folders: Iterable[str]) -> bool:
    """Whether a file is in one of the folders, as both are written or as they are once links are followed."""
    known = [folder for folder in folders if folder]
    if file.startswith(tuple(os.path.join(folder, "") for folder in known)):  # noqa: PTH118 - as text, for speed
        return True
    real = os.path.realpath(file)
    return any(real.startswith(os.path.join(os.path.realpath(folder), "")) for folder in known)  # noqa: PTH118


def _parent(file: str) -> str:
    return os.path.dirname(file)  # noqa: PTH120
