"""Modes: which rewrites run, and which backend the result is linked to."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle.compile.backends import BACKENDS
from treadle.compile.errors import FunctionTypeError, MissingBackendError
from treadle.config import config
from treadle.rewrite import GraphRewriter, RewriteDatabaseQuery, default_database

if TYPE_CHECKING:
    from treadle.link.vm import Backend, Linker

OPTIMIZERS: dict[str, RewriteDatabaseQuery] = {
    "fast_run": RewriteDatabaseQuery(include=("fast_run",)),
    "o4": RewriteDatabaseQuery(include=("fast_run",)),
    "o3": RewriteDatabaseQuery(include=("fast_run",), exclude=("inplace",)),
    "o2": RewriteDatabaseQuery(include=("fast_compile", "fusion")),
    "o1": RewriteDatabaseQuery(include=("fast_compile",)),
    "fast_compile": RewriteDatabaseQuery(include=("fast_compile",)),
    "merge": RewriteDatabaseQuery(include=("merge",)),
    "None": RewriteDatabaseQuery(),
}


def _optimizer(given: Any) -> RewriteDatabaseQuery:
    if isinstance(given, RewriteDatabaseQuery):
        return given
    name = "None" if given is None else given
    if name in OPTIMIZERS:
        return OPTIMIZERS[name]
    msg = f"Mode: the optimizer must be a query or one of {', '.join(OPTIMIZERS)}, got {given!r}."
    raise FunctionTypeError(msg)


def _linker_of_options() -> str:
    # The default value names the backend that is likely the fastest; `auto` finds out, and says why another is taken.
    return "auto" if config.source("linker") == "default" else str(config.linker)


@dataclass(frozen=True, slots=True, init=False)
class Mode:
    """How a function is compiled.

    Parameters
    ----------
    linker
        Name of a backend (or an alias such as ``c|py``), ``auto`` for the fastest that is installed, or a Backend.
        Option ``linker`` if None.
    optimizer
        Name of a set of rewrites, or a query. Option ``optimizer`` if ``"default"``; None for none but those
        that every mode has.
    name
        Shown in messages.

    Raises
    ------
    MissingBackendError
        When a function is compiled, if the backend is not installed or cannot work.
    """

    linker: str | Backend
    query: RewriteDatabaseQuery
    name: str

    def __init__(
        self, linker: str | Backend | None = None, optimizer: Any = "default", name: str | None = None
    ) -> None:
        chosen: str | Backend = _linker_of_options() if linker is None else linker
        object.__setattr__(self, "linker", chosen)
        object.__setattr__(self, "query", _optimizer(config.optimizer if optimizer == "default" else optimizer))
        label = chosen if isinstance(chosen, str) else chosen.name
        object.__setattr__(self, "name", name if name is not None else f"Mode({label})")

    @property
    def backend(self) -> Backend:
        """The backend, which must be installed and work here."""
        if not isinstance(self.linker, str):
            return self.linker
        return BACKENDS.default() if self.linker == "auto" else BACKENDS.find(self.linker)

    @property
    def optimizer(self) -> GraphRewriter:
        """What rewrites the graph: the rules that the mode asks for and the backend takes.

        Rules tagged ``minimum_compile``, which keep results from overflowing, belong to every mode, one without
        rewrites too.
        """
        backend = self.backend
        query = self.query.including("minimum_compile")
        if self.query.include:
            query = query.including(*backend.include)
        rewriter: GraphRewriter = default_database().query(query.excluding(*backend.exclude))
        return rewriter

    def make_linker(self) -> Linker:
        """Return a new linker of the mode's backend."""
        return self.backend.linker()

    def including(self, *tags: str) -> Mode:
        """Return a mode with further rewrites, by tag."""
        return self._with(self.query.including(*tags))

    def excluding(self, *tags: str) -> Mode:
        """Return a mode without the rewrites that carry a tag."""
        return self._with(self.query.excluding(*tags))

    def requiring(self, *tags: str) -> Mode:
        """Return a mode that runs only rewrites that carry all the tags."""
        return self._with(self.query.requiring(*tags))

    def clone(self, linker: str | Backend | None = None, optimizer: Any = None) -> Mode:
        """Return a mode with another linker or optimizer."""
        return Mode(
            self.linker if linker is None else linker,
            self.query if optimizer is None else optimizer,
            self.name if linker is None else None,
        )

    def _with(self, query: RewriteDatabaseQuery) -> Mode:
        new = object.__new__(type(self))
        # Subclasses keep what is theirs, in slots or not.
        names = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
        for name in (*names, *getattr(self, "__dict__", ())):
            object.__setattr__(new, name, getattr(self, name))
        object.__setattr__(new, "query", query)
        return new

    def __str__(self) -> str:
        """Show the name."""
        return self.name


FAST_RUN = Mode("auto", "fast_run", "FAST_RUN")
FAST_COMPILE = Mode("vm", "fast_compile", "FAST_COMPILE")


def predefined_modes() -> dict[str, Mode]:
    """Return the modes that have names: FAST_RUN, FAST_COMPILE, and one for each installed backend."""
    named = {mode.name: mode for mode in (FAST_RUN, FAST_COMPILE)}
    for name in BACKENDS.names():
        named[name.upper()] = Mode(name, "fast_run", name.upper())
    return named


def _with_options(mode: Mode) -> Mode:
    """Apply the options that add to, cut or restrict the rewrites of every named mode."""
    for option, change in (
        ("optimizer_excluding", "excluding"),
        ("optimizer_including", "including"),
        ("optimizer_requiring", "requiring"),
    ):
        tags = [t for t in str(getattr(config, option)).split(":") if t]
        if tags:
            mode = getattr(mode, change)(*tags)
    return mode


def get_mode(mode: Any = None) -> Mode:
    """Return a mode by name, in capitals or not; the default mode (option ``mode``) for None.

    Raises
    ------
    UnknownModeError
        If no mode has this name.
    MissingBackendError
        If the name is that of a backend that is not installed.
    FunctionTypeError
        If the argument is neither a mode nor a string.
    """
    if mode is None:
        mode = config.mode
    if isinstance(mode, Mode):
        return _with_options(mode) if mode in (FAST_RUN, FAST_COMPILE) else mode
    if not isinstance(mode, str):
        msg = f"mode: a Mode or the name of one is needed, got {mode!r}."
        raise FunctionTypeError(msg)
    name = mode.upper()
    if name == "MODE":
        return _with_options(Mode(name="Mode"))
    named = predefined_modes()
    if name in named:
        return _with_options(named[name])
    near = difflib.get_close_matches(name, named, n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    msg = (
        f"mode: no mode is called {mode or name!r}.{hint} Known: {', '.join(named)}. A backend that is not "
        "installed comes with pip install 'compile[c]', 'compile[numba]', 'compile[jax]' or 'compile[torch]'."
    )
    raise MissingBackendError(msg)


def get_default_mode() -> Mode:
    """Return the mode that option ``mode`` names."""
    return get_mode(None)
