"""ModeTable: modes by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.compile.errors import FunctionTypeError, MissingBackendError
from treadle.compile.mode.backends import BACKENDS, requirements
from treadle.compile.mode.names import NameTable
from treadle.compile.mode.optimizers import OPT_FAST_RUN
from treadle.config import BACKEND_REQUIREMENTS, discover, install_advice, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from treadle.compile.errors import UnknownModeError
    from treadle.compile.mode.mode import Mode
    from treadle.config import EntryPointRef


class ModeTable(NameTable["Mode"]):
    """Modes by name, in any capitals: ours, one for each installed backend, those of entry points, registered ones.

    Of ours, `named` are fixed, and those of `by_options` are made by the options of the moment. Entry points of the
    group ``treadle.modes`` name a Mode, or a function without arguments that returns one. ``MonitorMode`` prints what
    makes NaN, as its documented example does.
    """

    def __init__(
        self, kind: type[Mode], named: Mapping[str, Mode], by_options: Mapping[str, Callable[[], Mode]]
    ) -> None:
        super().__init__("mode", kind, "a Mode is needed, got {}.", fold=lambda name: str(name).upper())
        self.mode_class = kind
        self._named = named
        self._by_options = by_options
        self._of_backends: dict[str, Mode] = {}

    def _further_names(self) -> Iterable[str]:
        backends = (name.upper() for name in (*BACKENDS.names(), *BACKEND_REQUIREMENTS))
        return (*self._named, *self._by_options, *backends, *discover("treadle.modes"))

    def _find(self, name: str) -> Mode:
        if name in self._by_options:
            return self._by_options[name]()
        return self.lasting(name) or self._published(discover("treadle.modes")[name])

    def lasting(self, name: str) -> Mode | None:
        """Return the predefined mode that has exactly this name and does not depend on options, or None.

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

    def _unknown(self, name: object) -> UnknownModeError:
        known = self._message(f"mode: no mode is called {name!r}.", name)
        return MissingBackendError(
            f"{known} A backend that is not installed comes with {install_advice(*requirements())}."
        )

    def _published(self, entry: EntryPointRef) -> Mode:
        """Return the mode that an entry point names."""
        published = entry.load()
        mode = published if isinstance(published, self.mode_class) or not callable(published) else published()
        if not isinstance(mode, self.mode_class):
            msg = (
                f"mode {entry.name}: entry point {entry.value} of {entry.distribution} must be a Mode, or a function "
                f"that returns one, got {text_of(mode)}."
            )
            raise FunctionTypeError(msg)
        return mode
