"""Linkers by name: ours, those of installed backends, and registered ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.compile.errors import FunctionTypeError
from treadle.compile.mode.backends import BACKENDS
from treadle.compile.mode.names import NameTable
from treadle.config import LINKER_REQUIREMENTS, discover, text_of
from treadle.link.vm import Backend, ProgramLinker, ReferenceLinker

if TYPE_CHECKING:
    from collections.abc import Iterable

_VM = ("auto", "py", "vm", "vm_nogc")
_NO_GC = "_nogc"
# The entry-point group of linkers that other distributions put in the place of ours of the same name.
GROUP = "treadle.linkers"


def _small(name: object) -> str:
    return str(name).lower()


class LinkerTable(NameTable[ProgramLinker]):
    """Linkers by name.

    ``py`` runs each op's own ``perform``; ``vm`` is the Python VM; ``auto`` the fastest that works on this machine;
    backends bring the others. A name that ends in ``_nogc`` keeps intermediate values. The names of this project's
    backends are known whether or not these are installed. An entry point of the group ``treadle.linkers`` has the name
    of one of them, and stands for the class that is used in its place; its programs must compute the same.
    """

    def _further_names(self) -> Iterable[str]:
        return (*_VM, *LINKER_REQUIREMENTS, *BACKENDS.names())

    def __contains__(self, name: object) -> bool:
        key = str(name).lower()
        return key in self._items or key in _VM or key in LINKER_REQUIREMENTS or key in BACKENDS.names()

    def check(self, name: str) -> None:
        """Check that a linker has the name. Whether it works on this machine turns out when it is used."""
        if name not in self:
            BACKENDS.check(name)

    def backend(self, name: str) -> Backend:
        """Return the backend of a linker's name."""
        key = name.lower()
        if key in self._items:
            return backend_of(self._items[key][1])
        if key == "auto":
            return BACKENDS.default()
        return BACKENDS.find("vm" if key == "py" else key)

    def __getitem__(self, name: str) -> ProgramLinker:
        """Return a new linker."""
        key = name.lower()
        if key in self._items:
            return self._items[key][1].clone()
        backend = self.backend(name)
        published = discover(GROUP).get(key.removesuffix(_NO_GC))
        if published is not None:
            linker: ProgramLinker = published.load()()
        else:
            linker = ReferenceLinker() if key == "py" else linker_of(backend)
        return linker.clone(allow_gc=False) if key.endswith(_NO_GC) else linker


predefined_linkers = LinkerTable("linker", ProgramLinker, "a Linker is needed, got {}. Pass an instance.", fold=_small)


def register_linker(name: str, linker: ProgramLinker) -> None:
    """Let modes know a linker by a name.

    Raises
    ------
    DuplicateRegistrationError
        If the name is taken.
    FunctionTypeError
        If no linker is given.
    """
    predefined_linkers.register(name, linker)


def linker_of(backend: Backend) -> ProgramLinker:
    """Return a new linker of a backend, with the tags and capabilities that it declares where its class has none."""
    linker: object = backend.linker()
    if not isinstance(linker, ProgramLinker):
        msg = f"backend {backend.name}: its linker must be a treadle.link.vm.ProgramLinker, got {text_of(linker)}."
        raise FunctionTypeError(msg)
    if type(linker).required_rewrites is ProgramLinker.required_rewrites:
        linker.required_rewrites = tuple(dict.fromkeys((*ProgramLinker.required_rewrites, *backend.include)))
    if type(linker).incompatible_rewrites is ProgramLinker.incompatible_rewrites:
        linker.incompatible_rewrites = backend.exclude
    if type(linker).capabilities is ProgramLinker.capabilities:
        linker.capabilities = backend.capabilities
    return linker


def backend_of(linker: ProgramLinker) -> Backend:
    """Return a declaration of a backend for a linker that has none: its tags, and what it can do."""
    return Backend(
        name=type(linker).__name__,
        linker=linker.clone,
        include=tuple(linker.required_rewrites),
        exclude=tuple(linker.incompatible_rewrites),
        capabilities=linker.capabilities,
    )
