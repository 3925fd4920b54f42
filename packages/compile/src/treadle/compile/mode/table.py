"""ModeTable: the modes that have names."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import FunctionTypeError, MissingBackendError
from treadle.compile.mode.backends import BACKENDS, requirements
from treadle.compile.mode.names import NameTable
from treadle.compile.mode.optimizers import OPT_FAST_RUN
from treadle.config import BACKEND_REQUIREMENTS, discover, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from treadle.compile.errors import UnknownModeError
    from treadle.compile.mode.mode import Mode
    from treadle.config import EntryPointRef


class ModeTable(NameTable[Any]):
    """Modes by name, in any capitals: ours, one for each installed backend, those of entry points, registered ones.

    Parameters
    ----------
    kind
        The class of modes.
    named
        Modes that are always there.
    made
        Functions that make a mode by the options of the moment.

    Notes
    -----
    Entry points of the group ``treadle.modes`` name a Mode, or a function without arguments that returns one.
    ``MonitorMode`` prints what makes NaN, as its documented example does.
    """

    def __init__(self, kind: type[Mode], named: Mapping[str, Mode], made: Mapping[str, Callable[[], Mode]]) -> None:
        super().__init__("mode", {})
        self.mode_class = kind
        self._named = named
        self._made = made
        self._of_backends: dict[str, Mode] = {}

    def _key(self, name: object) -> str:
        return str(name).upper()

    def _checked(self, name: str, given: object) -> Any:
        if not isinstance(given, self.mode_class):
            msg = f"register_mode {name!r}: a Mode is needed, got {text_of(given)}."
            raise FunctionTypeError(msg)
        return given

    def names(self) -> dict[str, str]:
        """Return all names as they are written, by their capitals."""
        found: dict[str, str] = {}
        backends = (name.upper() for name in (*BACKENDS.names(), *BACKEND_REQUIREMENTS))
        for name in (*self._named, *self._made, *backends, *discover("treadle.modes"), *self.own_names()):
            found.setdefault(name.upper(), name)
        return found

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(list(self.names().values()))

    def __contains__(self, name: object) -> bool:
        """Whether a mode has the name."""
        return self._key(name) in self.names()

    def __getitem__(self, name: str) -> Any:
        """Return the mode of a name.

        Raises
        ------
        UnknownModeError
            If no mode has the name; the message lists near ones.
        """
        names = self.names()
        key = self._key(name)
        if key not in names:
            raise self.unknown(name)
        if key in self._items:
            return self._items[key]
        written = names[key]
        if written in self._made:
            return self._made[written]()
        return self.lasting(written) or self._published(discover("treadle.modes")[written])

    def lasting(self, name: str) -> Mode | None:
        """Return the predefined mode that has exactly this name, and is the same at each time of asking, or None.

        A backend that is known by name but not installed has one too: using it says how to install the backend.
        """
        backend = name.lower()
        if name in self._named:
            return self._named[name]
        if not name.isupper() or not (backend in BACKENDS.names() or backend in BACKEND_REQUIREMENTS):
            return None
        if name not in self._of_backends:
            self._of_backends[name] = self.mode_class(backend, OPT_FAST_RUN, name=name)
        return self._of_backends[name]

    def unknown(self, name: object) -> UnknownModeError:
        """Return the error for a name that no mode has."""
        names = self.names()
        near = difflib.get_close_matches(self._key(name), names, n=3)
        hint = f" Did you mean {' or '.join(names[n] for n in near)}?" if near else ""
        msg = (
            f"mode: no mode is called {name!r}.{hint} Known: {', '.join(self)}. A backend that is not installed "
            f"comes with pip install {' or '.join(requirements())}."
        )
        return MissingBackendError(msg)

    def _published(self, entry: EntryPointRef) -> Mode:
        """Return the mode that an entry point names."""
        found = entry.load()
        made = found if isinstance(found, self.mode_class) or not callable(found) else found()
        if not isinstance(made, self.mode_class):
            msg = (
                f"mode {entry.name}: entry point {entry.value} of {entry.distribution} must be a Mode, or a function "
                f"that returns one, got {text_of(made)}."
            )
            raise FunctionTypeError(msg)
        return made
