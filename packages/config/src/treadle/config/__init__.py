"""Typed options of treadle.

The module stands for the config object: ``treadle.config.floatX`` reads an option and
``treadle.config.floatX = "float32"`` assigns it, as ``from treadle.config import config`` and
``config.floatX`` do.
"""

import sys
from types import ModuleType
from typing import Any

from treadle.config.collector import COLLECTOR
from treadle.config.discovery import (
    EntryPointRef,
    discover,
    frozen,
    installed_version,
    is_imported,
    modules_awaited,
    package_folders,
)
from treadle.config.errors import (
    DecorationError,
    DiscoveryError,
    Display,
    EntryPointLoadError,
    OptionDefinitionError,
    OptionScopeError,
    OptionSettingsError,
    OptionSourceError,
    OptionValueError,
    OptionWarning,
    ReadOnlyOptionError,
    TreadleError,
    TreadleWarning,
    UnknownOptionError,
)
from treadle.config.frames import run_inside
from treadle.config.kinds import BOOL, FLOAT, INT, OPTIONAL_BOOL, PATH, STR, Kind, choice, subset
from treadle.config.lazy import VERSION, UpwardCalls, lazy_module, lazy_names, list_names, versioned_names
from treadle.config.locks import live_locks, new_condition, new_lock, usable_processors
from treadle.config.messages.notices import user_depth, warn_user
from treadle.config.messages.places import (
    is_foreign_file,
    is_installed_file,
    is_library_file,
    is_own_file,
    is_own_module,
)
from treadle.config.messages.subjects import about_call, alias
from treadle.config.messages.text import text_of
from treadle.config.option import Option
from treadle.config.owners import BACKEND_REQUIREMENTS, DISTRIBUTIONS, LINKER_REQUIREMENTS, install_advice
from treadle.config.records import dataclass
from treadle.config.settings import Config, config
from treadle.config.snapshot import Snapshot
from treadle.config.spans import Span, Spans, checkpoint, collecting, counted, span, tally

__all__ = [
    "BACKEND_REQUIREMENTS", "BOOL", "COLLECTOR", "DISTRIBUTIONS", "FLOAT", "INT", "LINKER_REQUIREMENTS",
    "OPTIONAL_BOOL", "PATH", "STR", "VERSION", "Config", "DecorationError", "DiscoveryError", "EntryPointLoadError",
    "EntryPointRef", "Kind", "Option", "OptionDefinitionError", "OptionScopeError", "OptionSettingsError",
    "OptionSourceError", "OptionValueError", "OptionWarning", "ReadOnlyOptionError", "Snapshot", "Span", "Spans",
    "TreadleError", "TreadleWarning", "UnknownOptionError", "UpwardCalls", "about_call", "alias", "checkpoint",
    "choice", "collecting", "config", "counted", "dataclass", "discover", "frozen", "install_advice",
    "installed_version", "is_foreign_file", "is_imported", "is_installed_file", "is_library_file", "is_own_file",
    "is_own_module", "lazy_module", "lazy_names", "list_names", "live_locks", "modules_awaited", "new_condition",
    "new_lock", "package_folders", "run_inside", "span", "subset", "tally", "text_of", "usable_processors",
    "user_depth", "versioned_names", "warn_user",
]  # fmt: skip


class _ConfigModule(ModuleType):
    """A module whose unknown attributes are the options of the config object."""

    def __setattr__(self, name: str, value: object) -> None:
        # The import system binds submodules, and tools set dunder names: both belong to the module.
        if name.startswith("_") or isinstance(value, ModuleType) or name in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(config, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(config, name)

    def __repr__(self) -> str:
        return repr(config)

    def __dir__(self) -> list[str]:
        public = (name for name in dir(config) if not name.startswith("_"))
        return sorted({*__all__, *public, *(name for name in self.__dict__ if name.startswith("__"))})


Display.module = lazy_module("treadle.config.tracebacks")
_own_names = versioned_names(__name__, "config")


def __getattr__(name: str) -> Any:
    return _own_names(name) if name.startswith("_") else getattr(config, name)


sys.modules[__name__].__class__ = _ConfigModule
