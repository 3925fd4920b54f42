"""The options that exist: declared by installed packages, or added by hand."""

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

from treadle.config.discovery import EntryPointRef, discover
from treadle.config.errors import OptionDefinitionError, UnknownOptionError
from treadle.config.lazy import lazy_module
from treadle.config.option import Option
from treadle.config.owners import OWNERS

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy_module("difflib")

GROUP = "treadle.options"


class Registry:
    """Options by name. Names and sections are kept apart, and a second declaration is refused."""

    def __init__(self, is_reserved: Callable[[str], bool]) -> None:
        self._is_reserved = is_reserved
        self._options: dict[str, Option[object]] = {}
        self._sections: set[str] = set()

    def __iter__(self) -> Iterator[Option[object]]:
        return iter([self._options[name] for name in sorted(self._options)])

    def __contains__(self, name: str) -> bool:
        return name in self._options

    def add(self, option: Option[object]) -> None:
        """Add an option, unless its name is that of another option, a section, or something of the config object."""
        name = option.name
        rival = self._options.get(name)
        if rival is not None:
            msg = (
                f"option {name}: declared twice, by {rival.owner or 'this process'} and by "
                f"{option.owner or 'this process'}. Rename one of them."
            )
            raise OptionDefinitionError(msg)
        sections = set(_prefixes(name))
        clashes = name in self._sections or sections & self._options.keys()
        if clashes or any(self._is_reserved(part) for part in (name, *sections)):
            msg = f"option {name}: the name, or its section, is in use for something else. Choose another."
            raise OptionDefinitionError(msg)
        self._options[name] = option
        self._sections |= sections

    def load_installed(self) -> list[str]:
        """Add the options of all installed packages, and return a sentence for each that failed."""
        failures = []
        for ref in discover(GROUP).values():
            try:
                declared = load_declarations(ref)
            except ImportError as error:
                failures.append(
                    f"options of {ref.distribution}: {ref.value} cannot be imported ({error}), so these "
                    f"options do not exist here. Reinstall {ref.distribution}."
                )
                continue
            for option in declared:
                self.add(option.owned_by(ref.distribution))
        return failures

    def is_section(self, name: str) -> bool:
        """Return whether some option's name begins with this section."""
        return name in self._sections

    def sections(self) -> list[str]:
        """Return all sections in name order."""
        return sorted(self._sections)

    def get(self, name: str) -> Option[object]:
        """Return an option; the error names the package to install, or the nearest names."""
        option = self._options.get(name)
        if option is None:
            raise UnknownOptionError(self.explain_missing(name))
        return option

    def explain_missing(self, name: str, origin: str = "") -> str:
        """Return the error text for an option that does not exist."""
        place = f" in {origin}" if origin else ""
        if name in OWNERS:
            return (
                f"option {name}{place}: no installed package provides it; it belongs to the distribution "
                f"{OWNERS[name]}. Install {OWNERS[name]}."
            )
        if name in self._sections:
            inside = ", ".join(known for known in sorted(self._options) if known.startswith(f"{name}__"))
            return f"option {name!r}{place}: is a section, which has no value of its own. Its options are {inside}."
        known = sorted({*self._options, *OWNERS})
        by_folded = {candidate.lower(): candidate for candidate in known}
        near = difflib.get_close_matches(name.strip().lower().replace(".", "__"), by_folded, n=3, cutoff=0.6)
        advice = (
            "Did you mean " + " or ".join(by_folded[match] for match in near) + "?"
            if near
            else "print(config) lists all options."
        )
        return f"option {name!r}{place}: does not exist. {advice}"


def load_declarations(ref: EntryPointRef) -> tuple[Option[object], ...]:
    """Return the options that an entry point names, without importing their package.

    Importing ``treadle.tensor.options`` in the ordinary way would first import ``treadle.tensor``
    and with it NumPy, for every program that reads one option. So unless the package is loaded
    already, the module's own file is run by itself.
    """
    module_name, _, attribute = ref.value.partition(":")
    parent = module_name.rpartition(".")[0]
    if not parent or parent in sys.modules or module_name in sys.modules:
        declared = getattr(import_module(module_name), attribute, None)
    else:
        spec = _find_alone(module_name, parent)
        module = module_from_spec(spec)
        if spec.loader is None:
            msg = f"{module_name} is not a module with a source"
            raise ImportError(msg)
        spec.loader.exec_module(module)
        declared = getattr(module, attribute, None)
    if not isinstance(declared, tuple) or not all(isinstance(option, Option) for option in declared):
        msg = (
            f"options of {ref.distribution}: {ref.value} is {declared!r}, not a tuple of Option. "
            f"Write {attribute or 'OPTIONS'}: tuple[Option[object], ...] = (...)."
        )
        raise OptionDefinitionError(msg)
    return declared


def _find_alone(module_name: str, parent: str) -> ModuleSpec:
    """Return the spec of a module, found without importing any package that it is in: by their folders."""
    top, *inside = parent.split(".")
    package = find_spec(top)
    if package is None:
        msg = f"no module named {parent!r}"
        raise ModuleNotFoundError(msg, name=parent)
    folders = [os.path.join(folder, *inside) for folder in package.submodule_search_locations or ()]  # noqa: PTH118 - text
    spec = PathFinder.find_spec(module_name, folders)
    if spec is None:
        msg = f"no module named {module_name!r}"
        raise ModuleNotFoundError(msg, name=module_name)
    return spec


def _prefixes(name: str) -> Iterator[str]:
    """Yield the sections around a name: of ``dnn__conv__algo``, ``dnn`` and ``dnn__conv``."""
    parts = name.split("__")
    for count in range(1, len(parts)):
        yield "__".join(parts[:count])
