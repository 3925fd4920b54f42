"""The ``__version__`` of packages: that of the distribution they are in, looked up when it is asked for."""

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from treadle.config.discovery import installed_version
from treadle.config.lazy import lazy_names

VERSION = "__version__"
_NONE: Mapping[str, str] = MappingProxyType({})


def versioned_names(package: str, distribution: str, modules: Mapping[str, str] = _NONE) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, as `lazy_names` does, which knows the package's version too.

    Parameters
    ----------
    package
        The package's own name.
    distribution
        The distribution that it is in.
    modules
        For each name that is imported when it is first asked for, the module that defines it.

    Raises
    ------
    AttributeError
        By the function returned, if the package has no such name, or its distribution is not installed.
    """
    load = lazy_names(package, modules)

    def found(name: str) -> Any:
        version = installed_version(distribution) if name == VERSION else None
        if version is None:
            return load(name)
        setattr(sys.modules[package], name, version)
        return version

    return found
