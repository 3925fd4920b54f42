"""The linkers that have names: ours, those of installed backends, and those that were registered."""

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
        """Whether a linker has the name."""
        key = str(name).lower()
        return key in self._items or key in _VM or key in LINKER_REQUIREMENTS or key in BACKENDS.names()

    def check(self, name: str) -> None:
        """Check that a linker has the name. Whether it works on this machine turns out when it is used.

        Raises
        ------
        MissingBackendError
            If none has.
        """
        if name not in self:
            BACKENDS.check(name)

    def backend(self, name: str) -> Backend:
        """Return the backend of a linker's name.

        Raises
        ------
        MissingBackendError
            If no linker has the name, or its backend is not installed or cannot work here.
        """
        key = name.lower()
        if key in self._items:
            return backend_of(self._items[key][1])
        if key == "auto":
            return BACKENDS.default()
        return BACKENDS.find("vm" if key == "py" else key)

    def __getitem__(self, name: str) -> ProgramLinker:
        """Return a new linker.

        Raises
        ------
        MissingBackendError
            If no linker has the name, or its backend is not installed or cannot work here.
        """
        key = name.lower()
        if key in self._items:
            return self._items[key][1].clone()
        backend = self.backend(name)
        published = discover(GROUP).get(key.removesuffix(_NO_GC))
        if published is not None:
            made: ProgramLinker = published.load()()
        else:
            made = ReferenceLinker() if key == "py" else linker_of(backend)
        return made.clone(allow_gc=False) if key.endswith(_NO_GC) else made


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
    """Return a new linker of a backend, with the tags that the backend declares where its class declares none."""
    made: object = backend.linker()
    if not isinstance(made, ProgramLinker):
        msg = f"backend {backend.name}: its linker must be a treadle.link.vm.ProgramLinker, got {text_of(made)}."
        raise FunctionTypeError(msg)
    if type(made).required_rewrites is ProgramLinker.required_rewrites:
        made.required_rewrites = tuple(dict.fromkeys((*ProgramLinker.required_rewrites, *backend.include)))
    if type(made).incompatible_rewrites is ProgramLinker.incompatible_rewrites:
        made.incompatible_rewrites = backend.exclude
    return made


def backend_of(linker: ProgramLinker) -> Backend:
    """Return a declaration for a linker that comes by itself: its tags, and what it can do."""
    return Backend(
        name=type(linker).__name__,
        linker=linker.clone,
        include=tuple(linker.required_rewrites),
        exclude=tuple(linker.incompatible_rewrites),
        capabilities=linker.capabilities,
    )
