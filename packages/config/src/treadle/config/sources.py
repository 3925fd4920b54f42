"""Settings from outside the program: the variable TREADLE_FLAGS and rc files."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from treadle.config.errors import OptionSettingsError, OptionSourceError, OptionValueError, UnknownOptionError
from treadle.config.lazy import lazy_module
from treadle.config.owners import OWNERS

if TYPE_CHECKING:
    import pathlib
    import shlex
    from collections.abc import Iterator, Mapping

    from treadle.config.registry import Registry
else:
    pathlib = lazy_module("pathlib")
    shlex = lazy_module("shlex")

_INTERPOLATED = ("USER", "LSCRATCH", "TMPDIR", "TEMP", "TMP")


class Setting(NamedTuple):
    """One ``name = text`` from outside, and where it stands."""

    name: str
    text: str
    origin: str


def resolve(environ: Mapping[str, str], registry: Registry) -> tuple[dict[str, tuple[object, str]], dict[str, str]]:
    """Return the values that the environment and the rc files give, or raise one error that lists all faults.

    The first mapping holds each option's value and where that stands; the second, for each documented option whose
    package is not installed, the sentence to warn with.
    """
    settings, malformed = read_settings(environ)
    faults: list[OptionSourceError | OptionValueError | UnknownOptionError] = [*malformed]
    values: dict[str, tuple[object, str]] = {}
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
    if len(faults) == 1:
        raise faults[0]
    if faults:
        listed = "\n".join(f"  {number}. {fault}" for number, fault in enumerate(faults, start=1))
        msg = f"config: {len(faults)} settings from outside are wrong. Correct each of them:\n{listed}"
        raise OptionSettingsError(msg)
    return values, absent


def read_settings(environ: Mapping[str, str]) -> tuple[list[Setting], list[OptionSourceError]]:
    """Return all settings from outside, of which the later ones win, and an error for each malformed place.

    ``TREADLE_FLAGS`` and ``TREADLERC`` are read, and the home folder's ``.treadlerc`` where ``TREADLERC`` is not given.
    """
    settings: list[Setting] = []
    problems: list[OptionSourceError] = []
    for path in rc_paths(environ):
        try:
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            msg = f"rc file {path}: cannot be read ({error}). Make it a readable UTF-8 text file."
            problems.append(OptionSourceError(msg))
            continue
        settings.extend(parse_rc(text, str(path), environ, problems))
    settings.extend(parse_flags(environ.get("TREADLE_FLAGS", ""), problems))
    return settings, problems


def rc_paths(environ: Mapping[str, str], *, windows: bool = os.name == "nt") -> tuple[pathlib.Path, ...]:
    """Return the rc files to read, in order of rising precedence.

    On Windows a semicolon stands between files, the home folder is in ``USERPROFILE``, and ``.treadlerc.txt`` is read
    beside ``.treadlerc``, since some editors there add the ending.
    """
    named = environ.get("TREADLERC")
    if named is not None:
        return tuple(pathlib.Path(part).expanduser() for part in named.split(";" if windows else ":") if part)
    home = environ.get("USERPROFILE" if windows else "HOME")
    if not home:
        return ()
    names = (".treadlerc", ".treadlerc.txt") if windows else (".treadlerc",)
    return tuple(pathlib.Path(home) / name for name in names)


def parse_flags(text: str, problems: list[OptionSourceError], *, windows: bool = os.name == "nt") -> Iterator[Setting]:
    """Yield the settings of a text like ``floatX=float32,gcc__cxxflags="-O3,-g"``.

    Commas separate; quotes protect them as in a shell, and so does a backslash except on Windows, where it separates
    folders. Blanks around an item are ignored. `problems` gets an error for each item that is not ``key=value``, and
    for a quote that is not closed.
    """
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace = ","
    lexer.whitespace_split = True
    lexer.commenters = ""
    if windows:
        lexer.escape = ""
    try:
        items = [item.strip() for item in lexer]
    except ValueError as error:
        msg = f"TREADLE_FLAGS: {error} in {text!r}. Close every quote."
        problems.append(OptionSourceError(msg))
        return
    for item in filter(None, items):
        name, equals, value = item.partition("=")
        if equals and name:
            yield Setting(name, value, f"TREADLE_FLAGS {item!r}")
            continue
        msg = f"TREADLE_FLAGS: {item!r} is not of the form key=value, in {text!r}. Write key=value,key=value."
        problems.append(OptionSourceError(msg))


def parse_rc(text: str, file: str, environ: Mapping[str, str], problems: list[OptionSourceError]) -> list[Setting]:
    """Return the settings of an rc file.

    The format is that of `configparser`: ``[section]`` lines, ``key = value`` or ``key: value``,
    indented continuation lines, and ``#`` or ``;`` at the start of a comment line. ``[global]``
    holds plain options; ``[compile] timeout = 3`` sets ``compile__timeout``; ``[dnn.conv]`` sets
    ``dnn__conv__...``. A value may use ``%(USER)s``, ``LSCRATCH``, ``TMPDIR``, ``TEMP``, ``TMP``
    and ``PID``; one that uses anything else is taken as it stands. `problems` gets an error with file
    and line for each line that is none of these, that stands before the first section, or that gives
    a key of its section again.
    """
    reader = _RcReader(file)
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            reader.take(line, number)
        except OptionSourceError as error:
            problems.append(error)
    return [
        Setting(name, _interpolate("\n".join(lines), environ), f"{file}:{number}")
        for name, (number, lines) in reader.settings.items()
    ]


class _RcReader:
    """Reads the lines of an rc file one after the other; a refused line changes nothing except that it ends a value."""

    def __init__(self, file: str) -> None:
        self.settings: dict[str, tuple[int, list[str]]] = {}
        self._file = file
        self._section: str | None = None
        self._last: list[str] | None = None

    def take(self, line: str, number: int) -> None:
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            return
        if line[0].isspace() and self._last is not None:
            self._last.append(stripped)
            return
        self._last = None
        if stripped.startswith("["):
            self._section = _section_of(stripped, self._file, number)
            return
        name, value = _item_of(stripped, self._section, self._file, number)
        if name in self.settings:
            msg = (
                f"{self._file}:{number}: {name} is given twice, first on line {self.settings[name][0]}, again as "
                f"{stripped!r}. Remove one of the two."
            )
            raise OptionSourceError(msg)
        self._last = [value]
        self.settings[name] = (number, self._last)


def _section_of(line: str, file: str, number: int) -> str:
    """Return the option-name prefix for a section line."""
    name = line[1:-1].strip()
    if not line.endswith("]") or not name:
        msg = f"{file}:{number}: {line!r} is not a section. Write [global] or [section]."
        raise OptionSourceError(msg)
    return "" if name == "global" else name.replace(".", "__") + "__"


def _item_of(line: str, section: str | None, file: str, number: int) -> tuple[str, str]:
    """Return the full option name and the value of a ``key = value`` line."""
    match = re.fullmatch(r"([^=:]*?)\s*[=:]\s*(.*)", line)
    if match is None or not match[1]:
        msg = f"{file}:{number}: {line!r} is not of the form key = value. Write key = value."
        raise OptionSourceError(msg)
    if section is None:
        msg = f"{file}:{number}: {line!r} stands before any section. Put [global] above it."
        raise OptionSourceError(msg)
    return section + match[1], match[2]


def _interpolate(value: str, environ: Mapping[str, str]) -> str:
    """Replace ``%(NAME)s`` for the known names; leave the value alone if anything else is used."""
    known = {name: environ[name] for name in _INTERPOLATED if name in environ}
    known["PID"] = str(os.getpid())
    pieces = re.split(r"(%%|%\([^)]*\)s)", value)
    for index in range(1, len(pieces), 2):
        piece = pieces[index]
        name = piece[2:-2]
        if piece != "%%" and name not in known:
            return value
        pieces[index] = "%" if piece == "%%" else known[name]
    if any("%" in piece for piece in pieces[::2]):
        return value
    return "".join(pieces)
