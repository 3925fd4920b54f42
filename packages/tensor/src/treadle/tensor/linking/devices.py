"""Devices: those of a library, by the names that an option, a mode or a shared variable gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.config import OptionValueError, config

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Devices"]

D = TypeVar("D")


class Devices(ABC, Generic[D]):
    """The devices of a library.

    Attributes
    ----------
    option
        The option that names the device where nothing else does.
    """

    def __init__(self, option: str) -> None:
        self.option = option

    @property
    @abstractmethod
    def library(self) -> str:
        """The library, as messages name it."""

    @property
    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """What `look_up` raises for a device that is not there."""

    @abstractmethod
    def look_up(self, name: str) -> D:
        """Return the device of a name; raise one of the `errors` if there is none, its first line the reason."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Return the names of the devices that the library finds."""

    def problem(self, name: str) -> str | None:
        """Return why programs cannot run on a device, and which devices there are; None if they can.

        The text goes on from what the device is named by: ``'gpu:7' cannot be used (...). Give ...``
        """
        try:
            self.look_up(name)
        except self.errors as error:
            return self._text(name, error)
        return None

    def chosen(self) -> D:
        """Return the device that the option names (errors as for `find`)."""
        return self.find(str(getattr(config, self.option)))

    def find(self, name: str) -> D:
        """Return the device of a name that the option has or had.

        Raises
        ------
        OptionValueError
            If the library finds no such device.
        """
        try:
            return self.look_up(name)
        except self.errors as error:
            msg = f"option {self.option}: {self._text(name, error)}"
            raise OptionValueError(msg) from error

    def _text(self, name: str, error: Exception) -> str:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return (
            f"{name!r} cannot be used ({reason}). Give the name of a device that {self.library} finds here: "
            f"{', '.join(self.names())}."
        )
