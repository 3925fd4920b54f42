"""Modes: which rewrites run, and which backend the result is linked to."""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.compile.errors import FunctionTypeError, FunctionWarning, ReadOnlyModeError
from treadle.compile.mode.backends import BACKENDS
from treadle.compile.mode.linkers import backend_of, linker_of, predefined_linkers
from treadle.compile.mode.optimizers import OPT_FAST_COMPILE, OPT_FAST_RUN, OPT_NONE, predefined_optimizers
from treadle.compile.mode.table import ModeTable
from treadle.compile.upward import upward
from treadle.config import config, lazy_module, text_of
from treadle.graph import as_flag
from treadle.link.vm import Backend, ProgramLinker
from treadle.rewrite import GraphRewriter, RewriteDatabase, RewriteDatabaseQuery, default_database, optdb

if TYPE_CHECKING:
    import difflib
    from collections.abc import Callable, Mapping

    from treadle.compile.functions.maker import FunctionMaker
else:
    difflib = lazy_module("difflib")

M = TypeVar("M", bound="Mode")


def _chosen_linker(linker: object) -> str | Backend | ProgramLinker:
    if linker is None:
        return str(config.linker)
    if isinstance(linker, type) and issubclass(linker, ProgramLinker):
        return linker()
    if isinstance(linker, str):
        predefined_linkers.check(linker)
    if isinstance(linker, str | Backend | ProgramLinker):
        return linker
    msg = f"Mode: the linker must be a name, a Backend or a Linker, got {text_of(linker)}."
    raise FunctionTypeError(msg)


def _chosen_rewrites(optimizer: object) -> tuple[RewriteDatabaseQuery, GraphRewriter | None]:
    """Return the query and the rewriter of a mode; where there is a rewriter, the query is empty."""
    rewrites = optimizer
    if optimizer is None or isinstance(optimizer, str):
        rewrites = predefined_optimizers.get("None" if optimizer is None else optimizer)
    if isinstance(rewrites, RewriteDatabaseQuery):
        return rewrites, None
    if isinstance(rewrites, GraphRewriter):
        return OPT_NONE, rewrites
    names = ", ".join(predefined_optimizers)
    near = difflib.get_close_matches(text_of(optimizer, str), list(predefined_optimizers), n=2)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    msg = f"Mode: the optimizer must be a query, a GraphRewriter or one of {names}, got {text_of(optimizer)}.{hint}"
    raise FunctionTypeError(msg)


def _checked_database(database: object) -> RewriteDatabase | None:
    if database is None or database is optdb:
        return None
    if isinstance(database, RewriteDatabase):
        return database
    msg = f"Mode: db must be a RewriteDatabase, got {text_of(database)}. A name is given as name=..."
    raise FunctionTypeError(msg)


def _optional_flag(tiered: object) -> bool | None:
    return None if tiered is None else as_flag("Mode: tiered", tiered)


class Mode:
    """How a function is compiled: which rewrites run, and what links the result. A mode does not change.

    Parameters
    ----------
    linker
        Name of a linker or backend (``vm``, ``py`` …), ``auto`` for the fastest that works here, a
        Backend, or a linker. Option ``linker`` if None.
    optimizer
        Name of a set of rewrites, a query, or a rewriter of whole graphs, which then runs alone. Option ``optimizer``
        if ``"default"``; None for none but those that every mode has.
    db
        The database that a query is asked of; `optdb` if None.
    name
        Shown in messages.
    tiered
        Whether functions run on the Python VM while they are compiled in the background, as the argument of `function`;
        option ``tiered`` if None.

    Attributes
    ----------
    query
        The query; an empty one if the mode has a rewriter of its own.
    db, name, tiered
        As given.
    provided_linker, provided_optimizer
        What was given.

    Raises
    ------
    FunctionTypeError
        If an argument is of a wrong kind, or no set of rewrites has the name.
    MissingBackendError
        If no linker has the name; when a function is compiled, if its backend is not installed or cannot work.

    Examples
    --------
    >>> mode = Mode("vm", "fast_run").excluding("inplace")
    >>> str(mode.query)
    '+fast_run -inplace'
    """

    __slots__ = ("_choice", "_link_options", "_rewriter", "db", "name", "query", "tiered")

    _choice: str | Backend | ProgramLinker
    _link_options: tuple[tuple[str, Any], ...]
    _rewriter: GraphRewriter | None
    db: RewriteDatabase | None
    name: str
    query: RewriteDatabaseQuery
    tiered: bool | None

    def __init__(
        self,
        linker: str | Backend | ProgramLinker | type[ProgramLinker] | None = None,
        optimizer: object = "default",
        db: RewriteDatabase | None = None,
        name: str | None = None,
        *,
        tiered: bool | None = None,
    ) -> None:
        choice = _chosen_linker(linker)
        query, rewriter = _chosen_rewrites(
            config.optimizer if isinstance(optimizer, str) and optimizer == "default" else optimizer
        )
        self._set(
            _choice=choice,
            _link_options=(),
            _rewriter=rewriter,
            db=_checked_database(db),
            name=f"Mode({_label(choice)})" if name is None else name,
            query=query,
            tiered=_optional_flag(tiered),
        )

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        if name in Mode.__slots__:
            msg = f"{self.name}: modes do not change, got {name} = {value!r}. Take clone, including or excluding."
            raise ReadOnlyModeError(msg)
        object.__setattr__(self, name, value)

    # What it is made of

    @property
    def provided_linker(self) -> str | Backend | ProgramLinker:
        """What the mode was given as its linker."""
        return self._choice

    @property
    def provided_optimizer(self) -> RewriteDatabaseQuery | GraphRewriter:
        """The query or rewriter that the mode was given or that its name stands for."""
        return self.query if self._rewriter is None else self._rewriter

    @property
    def own_rewriter(self) -> GraphRewriter | None:
        """The mode's own rewriter of whole graphs, None if it asks a database."""
        return self._rewriter

    @property
    def backend(self) -> Backend:
        """The backend, which must be installed and work here."""
        if isinstance(self._choice, Backend):
            return self._choice
        if isinstance(self._choice, ProgramLinker):
            return backend_of(self._choice)
        return predefined_linkers.backend(self._choice)

    @property
    def linker(self) -> ProgramLinker:
        """The linker: the instance that was passed, or a new one by the name or backend that was."""
        plain = type(self).make_linker is Mode.make_linker and not self._link_options
        return self._choice if plain and isinstance(self._choice, ProgramLinker) else self.make_linker()

    @property
    def optimizer(self) -> GraphRewriter:
        """What rewrites the graph: the rules that the mode asks for and the backend takes.

        Rules tagged ``minimum_compile``, which keep results from overflowing, belong to every mode, one without
        rewrites too. A rewriter of the mode's own runs alone.
        """
        if self._rewriter is not None:
            return self._rewriter
        backend = self.backend
        query = self.query.including("minimum_compile")
        if self.query.include or isinstance(self._choice, ProgramLinker):
            query = query.including(*backend.include)
        database = default_database() if self.db is None else self.db
        rewriter: GraphRewriter = database.query(query.excluding(*backend.exclude))
        return rewriter

    @property
    def function_maker(self) -> type[FunctionMaker]:
        """The class whose steps make functions in this mode; a subclass of Mode may name another."""
        return upward.FunctionMaker

    def make_linker(self) -> ProgramLinker:
        """Return a new linker of the mode."""
        if isinstance(self._choice, str):
            linker = predefined_linkers[self._choice]
        else:
            linker = linker_of(self._choice) if isinstance(self._choice, Backend) else self._choice.clone()
        if not self._link_options:
            return linker
        options = dict(self._link_options)
        try:
            return linker.clone(**options)
        except TypeError as error:
            what = f"{self.name}: {type(linker).__name__}"
            msg = f"{what} is not linked with the options {options} ({error}). Leave out those that it has not."
            raise FunctionTypeError(msg) from error

    def make_node_linker(self) -> ProgramLinker:
        """Return a new linker for graphs of one node each, as profiles and checks run them."""
        return self._own_node_linker() if type(self).make_linker is Mode.make_linker else self.make_linker()

    def _own_node_linker(self) -> ProgramLinker:
        """Return the linker for single nodes that linker and backend name, without what a subclass puts around it."""
        special = None if isinstance(self._choice, ProgramLinker) or self._link_options else self.backend.node_linker
        return Mode.make_linker(self) if special is None else special()

    # Other modes

    def including(self: M, *tags: str) -> M:
        """Return a mode with further rewrites, by tag; a warning names tags that the mode or its linker excludes.

        Raises
        ------
        FunctionTypeError
            If the mode has a rewriter of its own.
        """
        query = self._query("including")
        for excluder, excluded in (("the mode", query.exclude), (f"linker {self.backend.name}", self.backend.exclude)):
            barred = sorted(set(tags).intersection(excluded))
            if barred:
                msg = (
                    f"{self.name}: including {', '.join(map(repr, barred))} has no effect, as {excluder} excludes it. "
                    "Leave it out, or pick another mode."
                )
                warnings.warn(msg, FunctionWarning, stacklevel=2)
        return self._with(query.including(*tags))

    def excluding(self: M, *tags: str) -> M:
        """Return a mode without the rewrites that carry a tag.

        Raises
        ------
        FunctionTypeError
            If the mode has a rewriter of its own.
        """
        return self._with(self._query("excluding").excluding(*tags))

    def requiring(self: M, *tags: str) -> M:
        """Return a mode that runs only rewrites that carry all the tags.

        Raises
        ------
        FunctionTypeError
            If the mode has a rewriter of its own.
        """
        return self._with(self._query("requiring").requiring(*tags))

    def register(self: M, *optimizations: tuple[GraphRewriter, float | str]) -> M:
        """Return a mode with further rewrites: pairs (rewriter of whole graphs, position in the database).

        Raises
        ------
        RewriterTypeError
            If something else is given.
        FunctionTypeError
            If the mode has a rewriter of its own.
        """
        return self._with(self._query("register").register(*optimizations))

    def clone(
        self: M,
        link_kwargs: dict[str, object] | None = None,
        optimizer: object = "",
        *,
        linker: str | Backend | ProgramLinker | type[ProgramLinker] | None = None,
        **changes: object,
    ) -> M:
        """Return a mode of this kind, with something changed.

        Parameters
        ----------
        link_kwargs
            What the linker's `clone` is called with, such as ``{"allow_gc": False}``.
        optimizer
            As for `Mode`; this mode's if the empty string.
        linker
            As for `Mode`; this mode's if None.
        changes
            Other attributes, by name: ``db``, ``name``, ``tiered``, and those of a subclass.

        Raises
        ------
        FunctionTypeError
            If an argument is of a wrong kind, or the mode has no such attribute.
        """
        parameters = self.parameters()
        unknown = [name for name in changes if name not in parameters or name.startswith("_")]
        if unknown:
            known = ", ".join(name for name in parameters if not name.startswith("_"))
            msg = f"{type(self).__name__}.clone: there is no {', '.join(unknown)} to change. It has {known}."
            raise FunctionTypeError(msg)
        if linker is not None:
            parameters.update(_choice=_chosen_linker(linker), _link_options=())
            if type(self) is Mode:
                parameters["name"] = f"Mode({_label(parameters['_choice'])})"
        if link_kwargs:
            parameters["_link_options"] = tuple(sorted({**dict(self._link_options), **link_kwargs}.items()))
        if not (isinstance(optimizer, str) and not optimizer):
            parameters["query"], parameters["_rewriter"] = _chosen_rewrites(optimizer)
        if "db" in changes:
            changes["db"] = _checked_database(changes["db"])
        if "tiered" in changes:
            changes["tiered"] = _optional_flag(changes["tiered"])
        return _restored(type(self), {**parameters, **changes})

    def _query(self, method: str) -> RewriteDatabaseQuery:
        if self._rewriter is not None:
            msg = (
                f"{self.name}.{method}: the mode rewrites with {self._rewriter}, which has no tags. Give the mode a "
                "query, or the name of one."
            )
            raise FunctionTypeError(msg)
        return self.query

    def _with(self: M, query: RewriteDatabaseQuery) -> M:
        return _restored(type(self), {**self.parameters(), "query": query})

    # Identity

    def parameters(self) -> dict[str, Any]:
        """Return all that distinguishes the mode from another one, by attribute; those of subclasses included."""
        names = [name for kind in type(self).__mro__ for name in _slots(kind)]
        values = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return {**values, **getattr(self, "__dict__", {})}

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and isinstance(other, Mode) and self.parameters() == other.parameters()

    def __hash__(self) -> int:
        return hash((type(self), self.name, _label(self._choice), str(self.query)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a predefined mode by its name, any other by class and parameters, an installed backend by its name."""
        if type(self) is Mode and predefined_modes.lasting(self.name) == self:
            return _named, (self.name,)
        parameters = self.parameters()
        choice = self._choice
        if isinstance(choice, Backend) and choice.name in BACKENDS.names() and BACKENDS.load(choice.name) is choice:
            parameters["_choice"] = choice.name
        return _restored, (type(self), parameters)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        rewrites = f"{str(self.query)!r}" if self._rewriter is None else repr(self._rewriter)
        return f"<{type(self).__name__} {self.name}: linker {_label(self._choice)}, rewrites {rewrites}>"


def _label(choice: str | Backend | ProgramLinker) -> str:
    if isinstance(choice, str):
        return choice
    return choice.name if isinstance(choice, Backend) else type(choice).__name__


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in {"__dict__", "__weakref__"})


def _restored(kind: type[M], parameters: dict[str, object]) -> M:
    new = object.__new__(kind)
    # Modes that were pickled by version 2.0 say nothing of tiers.
    new._set(**{"tiered": None, **parameters})
    return new


# The modes with names

FAST_RUN = Mode("auto", OPT_FAST_RUN, name="FAST_RUN")
FAST_COMPILE = Mode("vm", OPT_FAST_COMPILE, name="FAST_COMPILE")
_DEPRECATED = "DEBUG_MODE"


# Modes made on each request, by the options of the moment.
_BY_OPTIONS: Mapping[str, Callable[[], Mode]] = MappingProxyType(
    {
        "Mode": lambda: Mode(name="Mode"),
        "DebugMode": lambda: upward.DebugMode(optimizer=config.optimizer),
        _DEPRECATED: lambda: upward.DebugMode(optimizer=config.optimizer),
        "NanGuardMode": lambda: upward.NanGuardMode(optimizer=config.optimizer),
        "MonitorMode": lambda: upward.MonitorMode(post_func=upward.detect_nan),
    }
)


predefined_modes = ModeTable(Mode, {mode.name: mode for mode in (FAST_COMPILE, FAST_RUN)}, _BY_OPTIONS)


def _named(name: str) -> Mode:
    return predefined_modes[name]


def register_mode(name: str, mode: Mode) -> None:
    """Let `function` and option ``mode`` know a mode by a name.

    Raises
    ------
    DuplicateRegistrationError
        If the name is taken.
    FunctionTypeError
        If no mode is given.
    """
    predefined_modes.register(name, mode)


def _with_options(mode: Mode) -> Mode:
    """Apply the options that add to, cut or restrict the rewrites of every named mode that has a query."""
    if mode.own_rewriter is not None:
        return mode
    for option, change in (
        ("optimizer_excluding", "excluding"),
        ("optimizer_including", "including"),
        ("optimizer_requiring", "requiring"),
    ):
        tags = [t for t in str(getattr(config, option)).split(":") if t]
        if tags:
            mode = getattr(mode, change)(*tags)
    return mode


def get_mode(orig_string: object = None) -> Mode:
    """Return a mode by name, in any capitals; the default mode (option ``mode``) for None, and a mode as it is.

    The options ``optimizer_excluding``, ``optimizer_including`` and ``optimizer_requiring`` change modes given by name,
    and the predefined ones given as objects too.

    Raises
    ------
    UnknownModeError
        If no mode has this name.
    MissingBackendError
        If the name is that of a backend that is not installed.
    FunctionTypeError
        If the argument is neither a mode nor a string.

    Examples
    --------
    >>> str(treadle.compile.get_mode("vm"))
    'VM'
    """
    mode = config.mode if orig_string is None else orig_string
    if isinstance(mode, Mode):
        return _with_options(mode) if predefined_modes.lasting(mode.name) == mode else mode
    if not isinstance(mode, str):
        msg = f"mode: a Mode or the name of one is needed, got {text_of(mode)}."
        raise FunctionTypeError(msg)
    if mode.upper() == _DEPRECATED:
        warnings.warn("mode DEBUG_MODE: the name is deprecated, write DebugMode.", DeprecationWarning, stacklevel=3)
    return _with_options(predefined_modes[mode])


def get_default_mode() -> Mode:
    """Return the mode that option ``mode`` names.

    Examples
    --------
    >>> isinstance(treadle.compile.get_default_mode(), treadle.compile.Mode)
    True
    """
    return get_mode(None)
