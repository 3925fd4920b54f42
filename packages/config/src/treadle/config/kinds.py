"""The kinds of value that options hold: how a value is checked and a text is parsed."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from treadle.config.lazy import lazy_module

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable
    from typing import SupportsFloat, SupportsIndex
else:
    pathlib = lazy_module("pathlib")

T_co = TypeVar("T_co", covariant=True)


class Kind(NamedTuple, Generic[T_co]):
    """One kind of option value.

    Parameters
    ----------
    name
        A short name for listings, such as ``"int"``.
    parse
        Takes a value as assigned, or a text as found in an rc file, and returns the value to keep.
        Raises `ValueError` (or `TypeError`) for anything else; the message may be empty.
    allowed
        What is accepted, as it completes the sentence "expected ...".
    """

    name: str
    parse: Callable[[object], T_co]
    allowed: str

    def where(self, allowed: str, accepts: Callable[[T_co], bool]) -> Kind[T_co]:
        """Return this kind restricted to the values for which `accepts` is true.

        >>> INT.where("an integer > 0", lambda value: value > 0).parse("3")
        3
        """

        def parse(setting: object) -> T_co:
            value = self.parse(setting)
            if not accepts(value):
                raise ValueError(allowed)
            return value

        return Kind(self.name, parse, allowed)


def _parse_bool(setting: object) -> bool:
    text = str(setting).strip().lower()
    if text in {"true", "1"}:
        return True
    if text in {"false", "0"}:
        return False
    raise ValueError(text)


def _parse_int(setting: object) -> int:
    if isinstance(setting, bool):
        raise TypeError(setting)
    if isinstance(setting, str):
        return int(setting)
    return operator.index(cast("SupportsIndex", setting))  # raises for anything else


def _parse_float(setting: object) -> float:
    if isinstance(setting, bool):
        raise TypeError(setting)
    return float(cast("SupportsFloat", setting))  # raises for anything else


def _parse_str(setting: object) -> str:
    if not isinstance(setting, str):
        raise TypeError(setting)
    return setting


def _parse_optional_bool(setting: object) -> bool | None:
    if setting is None or (isinstance(setting, str) and setting.strip().lower() == "none"):
        return None
    return _parse_bool(setting)


def _parse_path(setting: object) -> pathlib.Path:
    if not isinstance(setting, str | os.PathLike):
        raise TypeError(setting)
    text = os.fspath(setting)
    if not text or "\0" in text:  # an empty path would mean the working directory
        raise ValueError(setting)
    try:
        return pathlib.Path(text).expanduser()
    except RuntimeError as error:  # ~ where there is no home folder, or ~name without such a user
        raise ValueError(setting) from error


BOOL: Kind[bool] = Kind("bool", _parse_bool, "True or False (or 1, 0, true, false)")
OPTIONAL_BOOL: Kind[bool | None] = Kind("bool or None", _parse_optional_bool, "True, False or None")
INT: Kind[int] = Kind("int", _parse_int, "an integer")
FLOAT: Kind[float] = Kind("float", _parse_float, "a number")
STR: Kind[str] = Kind("str", _parse_str, "a string")
PATH: Kind[pathlib.Path] = Kind("path", _parse_path, "the path of a file or folder, which is not empty")


def choice(*values: str, ignore_case: bool = False) -> Kind[str]:
    """Return the kind that accepts the given strings only.

    Parameters
    ----------
    values
        The accepted strings, in the order in which listings show them.
    ignore_case
        Accept any capitalisation; the value kept is spelled as in `values`.
    """

    def parse(setting: object) -> str:
        if setting is None and "None" in values:
            return "None"
        if isinstance(setting, str):
            for value in values:
                if setting == value or (ignore_case and setting.lower() == value.lower()):
                    return value
        raise ValueError(setting)

    return Kind("choice", parse, "one of " + ", ".join(map(repr, values)))


def subset(*values: str, word_for_all: str = "") -> Kind[str]:
    """Return the kind that accepts any of the given strings, several of them joined by colons, or an empty string.

    Parameters
    ----------
    values
        The accepted strings.
    word_for_all
        A word that stands for all of them.
    """
    words = (*values, word_for_all) if word_for_all else values

    def parse(setting: object) -> str:
        if not isinstance(setting, str) or not all(part in words for part in setting.split(":") if setting):
            raise ValueError(setting)
        return setting

    return Kind("subset", parse, "some of " + ", ".join(map(repr, words)) + " joined by ':', or ''")
