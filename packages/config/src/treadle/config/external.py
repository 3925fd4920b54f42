"""What the settings from outside come to: a value for each option they name, or one error that lists all faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config.errors import OptionSettingsError, OptionSourceError, OptionValueError, UnknownOptionError
from treadle.config.owners import OWNERS
from treadle.config.sources import read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.config.registry import Registry

Fault = OptionSourceError | OptionValueError | UnknownOptionError


def resolve(environ: Mapping[str, str], registry: Registry) -> tuple[dict[str, tuple[Any, str]], dict[str, str]]:
    """Return the values that the environment and the rc files give.

    Returns
    -------
    By option, its value and where that stands; and by documented option whose package is not
    installed, the sentence to warn with.

    Raises
    ------
    OptionSourceError, OptionValueError, UnknownOptionError
        If one setting is wrong.
    OptionSettingsError
        If several are: all of these at once.
    """
    settings, malformed = read_settings(environ)
    faults: list[Fault] = [*malformed]
    values: dict[str, tuple[Any, str]] = {}
    absent: dict[str, str] = {}
    for name, text, origin in settings:
        if name in registry:
            try:
                values[name] = (registry.get(name).accept(text, origin), origin)
            except OptionValueError as error:
                faults.append(error)
        elif name in OWNERS:
            absent[name] = registry.explain_missing(name, origin)
        else:
            faults.append(UnknownOptionError(registry.explain_missing(name, origin)))
    _refuse(faults)
    return values, absent


def _refuse(faults: Sequence[Fault]) -> None:
    if len(faults) == 1:
        raise faults[0]
    if faults:
        listed = "\n".join(f"  {number}. {fault}" for number, fault in enumerate(faults, start=1))
        msg = f"config: {len(faults)} settings from outside are wrong. Correct each of them:\n{listed}"
        raise OptionSettingsError(msg)
