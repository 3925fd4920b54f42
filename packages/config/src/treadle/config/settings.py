"""The config object: one value per option, from the first source that gives one."""

import os
import sys
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any

from treadle.config.errors import OptionDefinitionError, OptionScopeError, ReadOnlyOptionError, UnknownOptionError
from treadle.config.frames import Frame, FrameVar, ScopedValues
from treadle.config.listing import render, shown
from treadle.config.locks import new_lock
from treadle.config.messages.notices import WarnOnce, reader_place, user_place
from treadle.config.option import Option
from treadle.config.owners import OWNERS
from treadle.config.registry import Registry
from treadle.config.snapshot import Snapshot
from treadle.config.sources import resolve


class Config:
    """The options of this process, read as attributes.

    The value of an option is that of the innermost `change_flags` block around, else the one
    assigned, else the one in ``TREADLE_FLAGS``, else the one in an rc file, else the default. The
    environment and the files are read once, when an option is first read.

    Parameters
    ----------
    environ
        The environment to read; `os.environ` if not given.
    installed
        Whether to take the options of the installed packages, beside those given to `add`.

    Examples
    --------
    >>> from treadle.config import BOOL, Config, Option
    >>> settings = Config(environ={"TREADLE_FLAGS": "demo__loud=True"}, installed=False)
    >>> settings.add(Option("demo__loud", False, "Whether to shout.", BOOL))
    >>> settings.demo.loud, settings.source("demo__loud")
    (True, "TREADLE_FLAGS 'demo__loud=True'")
    >>> with settings.change_flags(demo__loud=False):
    ...     settings.demo__loud
    False
    """

    # The attributes that are not options: set directly, all others through the options.
    __slots__ = (
        *("__weakref__", "_assigned", "_computed", "_derived", "_environ", "_external", "_frame", "_generation"),
        *("_installed", "_lock", "_registry", "_snapshot", "_state", "_used", "_values", "_warned"),
    )

    def __init__(self, environ: Mapping[str, str] | None = None, *, installed: bool = True) -> None:
        # A class of its own lets this object have a property per option: Python reads one in half
        # the time that a failed lookup followed by __getattr__ takes.
        own = type("Config", (Config,), {"__slots__": (), "__module__": __name__, "__doc__": Config.__doc__})
        object.__setattr__(self, "__class__", own)
        self._environ = environ
        self._installed = installed
        self._registry = Registry(_is_taken)
        self._lock = new_lock()
        self._state = "new"
        self._frame: FrameVar = ContextVar("treadle.config", default=None)
        self._assigned: dict[str, tuple[object, str]] = {}  # with the user's file and line
        self._external: dict[str, tuple[object, str]] = {}
        self._computed: dict[str, tuple[object, frozenset[str]]] = {}
        self._derived: set[str] = set()  # options whose default was once computed from others
        self._used: dict[str, tuple[str, object]] = {}
        self._values: dict[str, object] = {}  # what may be returned at once: no read-only option before its first use
        self._generation = 0
        self._snapshot: tuple[int, Snapshot] | None = None
        self._warned = WarnOnce()

    # ------------------------------------------------------------ reading

    def __getattr__(self, name: str) -> Any:
        return self._read(name, use=True)

    def _bind(self, name: str) -> None:
        """Give this object's class a property that reads the option."""
        values, current_frame, derived = self._values, self._frame.get, self._derived

        def read(self: Config) -> object:
            frame = current_frame()
            try:
                if frame is None:
                    return values[name]
                if frame.reads is None:
                    if name in frame.values:
                        return frame.values[name]
                    if name not in derived:
                        return values[name]
            except KeyError:
                pass  # not resolved yet, or changed
            return self._read(name, use=True)

        setattr(type(self), name, property(read))

    def _read(self, name: str, *, use: bool) -> object:
        """Return the value as seen from here; `use` says whether it counts as a use of the option."""
        if name.startswith("_"):
            msg = f"config: has no attribute {name!r}. Options do not begin with an underscore."
            raise UnknownOptionError(msg)
        frame = self._frame.get()
        if frame is None:
            return self._base(name, use=use)
        if frame.reads is not None:
            # A default that is computed from this option: it counts as a use once that default is used.
            frame.reads.add(name)
            use = False
        if name in frame.values:
            return frame.values[name]
        value = self._base(name, use=use)
        return self._follow(name, frame, value)

    def _follow(self, name: str, frame: Frame, value: object) -> object:
        """Return `value`, or the default anew where it was computed from options that the block changes."""
        _, inputs = self._computed.get(name, (None, frozenset[str]()))
        if frame.reads is not None:
            frame.reads |= inputs
        if name in self._assigned or name in self._external or inputs.isdisjoint(frame.values):
            return value
        computed = frame.computed.get(name)
        if computed is None or computed[0] != self._generation:
            computed = (self._generation, self._evaluate(self._registry.get(name), frame.values)[0])
            frame.computed[name] = computed
        return computed[1]

    def _base(self, name: str, *, use: bool) -> object:
        """Return the process-wide value, or a section."""
        try:
            return self._values[name]
        except KeyError:  # not resolved yet, or another thread has just changed it
            pass
        with self._lock:
            self._load()
            if self._registry.is_section(name):
                return Section(self, name)
            option = self._registry.get(name)
            value = self._unscoped(option)
            fixed = self._read_only_parts(option, value)
            if use:
                for used, used_value in fixed:
                    self._used.setdefault(used, (reader_place(), used_value))
            if use or not fixed:
                self._values[name] = value
            return value

    def _unscoped(self, option: Option[object]) -> object:
        """Return an option's value outside of every block: assigned, from outside, or the default."""
        name = option.name
        setting = self._assigned.get(name) or self._external.get(name)
        if setting is not None:
            return setting[0]
        if name not in self._computed:
            self._computed[name] = self._evaluate(option, {})
            if self._computed[name][1]:
                self._derived.add(name)
        return self._computed[name][0]

    def _read_only_parts(self, option: Option[object], value: object) -> list[tuple[str, object]]:
        """Return the read-only options that a use of an option uses, itself included, with their values."""
        name = option.name
        is_set = name in self._assigned or name in self._external
        # A default may have asked for an option whose package is not installed.
        inputs = [] if is_set else sorted(part for part in self._computed[name][1] if part in self._registry)
        parts = [(part, self._base(part, use=False)) for part in inputs if self._registry.get(part).read_only]
        return [*parts, (name, value)] if option.read_only else parts

    def _evaluate(self, option: Option[object], values: Mapping[str, object]) -> tuple[object, frozenset[str]]:
        """Compute a default and the names of the options it was computed from."""
        if not callable(option.default):
            return option.make_default(), frozenset()
        outer = self._frame.get()
        if outer is not None and outer.is_evaluating(option.name):
            msg = f"option {option.name}: its default depends on itself. Break the circle of defaults."
            raise OptionDefinitionError(msg)
        inner = Frame({}, outer, option, "default", values, evaluating=option.name, reads=set())
        token = self._frame.set(inner)
        try:
            value = option.make_default()
        finally:
            self._frame.reset(token)
        return value, frozenset(inner.reads or ())

    # ------------------------------------------------------------ loading

    def _load(self) -> None:
        """Collect the declared options and the settings from outside, once; the next call retries a failure."""
        if self._state == "loaded":
            return
        if self._state == "loading":
            msg = (
                "config: an option was read while the options themselves were being loaded. "
                "Read options inside functions, not at the top of an options module."
            )
            raise OptionDefinitionError(msg)
        self._state = "loading"
        try:
            failures = self._declare_installed()
            self._read_external()
        except BaseException:
            self._state = "new"
            raise
        self._state = "loaded"
        for text in failures:
            self._warned.warn(text, text)

    def _declare_installed(self) -> list[str]:
        if not self._installed:
            return []
        fresh = Registry(_is_taken)
        failures = fresh.load_installed()
        for option in self._registry:  # those added by `add`
            fresh.add(option)
        for option in fresh:
            self._bind(option.name)
        self._registry, self._installed = fresh, False
        return failures

    def _read_external(self) -> None:
        values, absent = resolve(os.environ if self._environ is None else self._environ, self._registry)
        for name, text in absent.items():
            self._warned.warn(name, f"{text} The setting is ignored.")
        for name, (value, _) in values.items():
            self._warn_if_no_effect(self._registry.get(name), value)
        self._external = values

    def _warn_if_no_effect(self, option: Option[object], value: object) -> None:
        if option.no_effect and value != option.make_default():
            text = f"option {option.name}: {value!r} has no effect: {option.no_effect} Leave it out."
            self._warned.warn(option.name, text)

    # ------------------------------------------------------------ changing

    def __setattr__(self, name: str, value: object) -> None:
        """Assign an option for the whole process.

        Raises
        ------
        UnknownOptionError
            If there is no such option.
        OptionValueError
            If the option does not accept the value.
        OptionScopeError
            Inside a block that sets the option, where the assignment could not be seen.
        ReadOnlyOptionError
            If the option is read-only and in use.
        """
        if name in Config.__slots__:
            object.__setattr__(self, name, value)
            return
        with self._lock:
            self._load()
            option = self._find_for_change(name, "an assignment")
            if option is None:
                return
            self._refuse_inside_block(name)
            accepted = option.accept(value)
            self._refuse_used(option, accepted)
            self._warn_if_no_effect(option, accepted)
            file, line = user_place()
            self._assigned[name] = (accepted, f"{file}:{line}")
            self._forget(name)

    def __delattr__(self, name: str) -> None:
        """Undo the assignment of an option: its value comes from outside or is the default again."""
        with self._lock:
            self._load()
            option = self._registry.get(name)
            self._refuse_inside_block(name)
            if name not in self._assigned:
                return
            if option.read_only and name in self._used:
                raise ReadOnlyOptionError(self._used_text(option, "deleting its assignment"))
            del self._assigned[name]
            self._forget(name)

    def change_flags(
        self, values: Mapping[str, object] | Iterable[tuple[str, object]] = (), /, **more: object
    ) -> ScopedValues:
        """Return a context manager and decorator that gives options other values in its block.

        Only the current thread or task sees them. A thread started inside the block does not: run
        its function through ``contextvars.copy_context().run`` to carry them there. Blocks nest; the
        innermost wins. Values are checked when the block is entered.

        Parameters
        ----------
        values
            Values by option, as a mapping or pairs.
        more
            Further ones as keywords, such as ``compile__wait=3``.

        Raises
        ------
        UnknownOptionError, OptionValueError
            On entering, for a name or value that does not exist.
        ReadOnlyOptionError
            On entering, for a read-only option: its value would change when the block ends.
        """
        changes = {**dict(values), **more}
        accepted: dict[str, object] | None = None

        def resolved() -> Mapping[str, object]:
            nonlocal accepted
            if accepted is None or any(name in self._used for name in changes):
                accepted = self._accept_all(changes)
            return accepted

        return ScopedValues(self._frame, "change_flags", resolved)

    def using(self, snapshot: Mapping[str, object]) -> ScopedValues:
        """Return a context manager and decorator inside which the options are as in `snapshot`."""
        return ScopedValues(self._frame, "snapshot", lambda: snapshot)

    def _accept_all(self, values: Mapping[str, object]) -> dict[str, object]:
        accepted = {}
        with self._lock:
            self._load()
            for name, value in values.items():
                option = self._find_for_change(name, "change_flags")
                if option is not None:
                    accepted[name] = option.accept(value)
                    self._refuse_block(option, accepted[name])
                    self._warn_if_no_effect(option, accepted[name])
        return accepted

    def _refuse_block(self, option: Option[object], value: object) -> None:
        """Refuse a block that would change a read-only option at its beginning, and again at its end."""
        if not option.read_only or option.scoped:
            return
        self._refuse_used(option, value)
        if value != self._read(option.name, use=False):
            msg = (
                f"option {option.name}: read-only, so a block cannot give it the value {value!r} and take it back at "
                "its end. Assign it before its first use, or set it in TREADLE_FLAGS."
            )
            raise ReadOnlyOptionError(msg)

    def _find_for_change(self, name: str, origin: str) -> Option[object] | None:
        """Return an option; where its package is not installed, warn that the setting is ignored and return None."""
        if name in self._registry:
            return self._registry.get(name)
        text = self._registry.explain_missing(name, origin)
        if name not in OWNERS:
            raise UnknownOptionError(text)
        self._warned.warn(name, f"{text} The setting is ignored.")
        return None

    def _refuse_inside_block(self, name: str) -> None:
        frame = self._frame.get()
        if frame is not None and name in frame.values:
            block = (frame.source_of(name) or "default").replace(" at ", " block, entered at ", 1)
            msg = (
                f"option {name}: assigned inside a {block} that sets it, to {frame.values[name]!r}, so the assignment "
                "would not be seen. "
                "Assign outside of the block, or use a nested change_flags."
            )
            raise OptionScopeError(msg)

    def _refuse_used(self, option: Option[object], value: object) -> None:
        if option.name in self._used and option.read_only and value != self._used[option.name][1]:
            raise ReadOnlyOptionError(self._used_text(option, f"{value!r}"))

    def _used_text(self, option: Option[object], attempt: str) -> str:
        place, value = self._used[option.name]
        advice = ", or for a block in change_flags" if option.scoped else ", which is read first"
        return (
            f"option {option.name}: read-only since its first use, by {place}, with the value {value!r}; given "
            f"{attempt}. Set it before that, or in TREADLE_FLAGS{advice}."
        )

    def _forget(self, name: str) -> None:
        """Drop what was derived from the option's former value."""
        self._values.pop(name, None)
        for other in [other for other, (_, inputs) in self._computed.items() if name in inputs]:
            del self._computed[other]
            if other not in self._assigned and other not in self._external:
                self._values.pop(other, None)
        self._generation += 1

    # ------------------------------------------------------------ listing

    def add(self, option: Option[object]) -> None:
        """Declare an option by hand; installed packages declare theirs by entry point.

        Raises
        ------
        OptionDefinitionError
            If it is not an `Option`, or its name is taken.
        """
        candidate: object = option
        if not isinstance(candidate, Option):
            msg = f"config.add: an Option is needed, got {candidate!r}. Write config.add(Option.integer('name', ...))."
            raise OptionDefinitionError(msg)
        with self._lock:
            self._registry.add(option)
            self._bind(option.name)
            if self._state == "loaded":  # the environment may have named it, as a documented option
                self._read_external()
            self._generation += 1

    def options(self) -> tuple[Option[object], ...]:
        """Return the declarations of all options, by name."""
        with self._lock:
            self._load()
            return tuple(self._registry)

    def source(self, name: str) -> str:
        """Return where the current value of an option comes from.

        ``"change_flags at file:line"`` where a block was entered, ``"snapshot at file:line"`` likewise,
        ``"assignment at file:line"``, ``"TREADLE_FLAGS 'key=value'"``, an rc file as ``"path:line"``, or ``"default"``.

        Raises
        ------
        UnknownOptionError
            If there is no such option.
        """
        with self._lock:
            self._load()
            self._registry.get(name)
            frame = self._frame.get()
            if frame is not None and name in frame.values:
                return frame.source_of(name)
            if name in self._assigned:
                return f"assignment at {self._assigned[name][1]}"
            return self._external[name][1] if name in self._external else "default"

    def snapshot(self) -> Snapshot:
        """Return every option's value as seen from here, as an immutable mapping.

        Asking again gives the same object until an option changes.
        """
        frame = self._frame.get()
        cached = self._snapshot if frame is None else frame.snapshot
        if cached is not None and cached[0] == self._generation:
            return cached[1]
        with self._lock:
            options = self.options()
            generation = self._generation
            values = {option.name: self._read(option.name, use=False) for option in options}
            snapshot = Snapshot(values, tuple(option.name for option in options if option.affects_code))
            if frame is None:
                self._snapshot = (generation, snapshot)
            else:
                frame.snapshot = (generation, snapshot)
        return snapshot

    def get_config_hash(self) -> str:
        """Return a digest of the values, as seen from here, of all options that can affect compiled code."""
        return self.snapshot().digest()

    def describe(self, *names: str) -> str:
        """Return the listing of options: name, value, where it comes from, default, what is allowed, and doc.

        Parameters
        ----------
        names
            Options, sections, or beginnings of names, with ``__`` or dots; all options if none.

        Raises
        ------
        UnknownOptionError
            If no option fits a name; the message lists the nearest ones.
        """
        with self._lock:
            return render(
                (option, self._read(option.name, use=False), self.source(option.name), self._default_text(option))
                for option in self._named(names)
            )

    def _named(self, names: Iterable[str]) -> list[Option[object]]:
        """Return the options that any of the names fits, by name."""
        options = self.options()
        chosen: set[str] = set()
        for text in names:
            name = text.replace(".", "__")
            fitting = [name] if name in self._registry else [o.name for o in options if o.name.startswith(name)]
            if not fitting:
                raise UnknownOptionError(self._registry.explain_missing(text))
            chosen.update(fitting)
        return [option for option in options if option.name in chosen or not chosen]

    def _default_text(self, option: Option[object]) -> str:
        computed = self._computed.get(option.name)
        return shown(computed[0]) if computed is not None and not option.default_text else option.describe_default()

    def __repr__(self) -> str:
        return self.describe()

    def __dir__(self) -> list[str]:
        names = [option.name for option in self.options()]
        return sorted({*object.__dir__(self), *names, *self._registry.sections()})

    def __reduce__(self) -> str:
        return "config"


class Section:
    """The options of one section, as in ``config.compile.timeout``."""

    __slots__ = ("_config", "_prefix")

    def __init__(self, config: Config, name: str) -> None:
        self._config, self._prefix = config, f"{name}__"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            msg = f"section {self._prefix[:-2]}: has no attribute {name!r}. Options do not begin with an underscore."
            raise UnknownOptionError(msg)
        return getattr(self._config, self._prefix + name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in Section.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self._config, self._prefix + name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._config, self._prefix + name)

    def __repr__(self) -> str:
        return self._config.describe(self._prefix)

    def __dir__(self) -> list[str]:
        names = (option.name for option in self._config.options())
        return sorted(name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix))


def _is_taken(name: str) -> bool:
    """Whether the config object, or the module that stands for it, has an attribute of this name besides options."""
    module = sys.modules.get(__package__)
    return hasattr(Config, name) or name in vars(module or object) or name in _submodules()


@cache
def _submodules() -> frozenset[str]:
    """Return the names of the package's modules, which the import system binds in it, loaded or not."""
    try:
        files = os.listdir(os.path.dirname(__file__))  # noqa: PTH120, PTH208 - pathlib is loaded later, if at all
    except OSError:  # from an archive
        files = []
    return frozenset(file.partition(".")[0] for file in files)


config = Config()
