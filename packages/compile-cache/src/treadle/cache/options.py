"""The options that treadle.cache reads."""

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.config import (
    INT,
    STR,
    Option,
    OptionValueError,
    UnknownOptionError,
    config,
    installed_version,
    lazy_module,
)

if TYPE_CHECKING:
    import subprocess
    import tempfile
else:
    subprocess = lazy_module("subprocess")
    tempfile = lazy_module("tempfile")

_POSITIVE = INT.where("an integer > 0", lambda value: value > 0)


class _Places(Mapping[str, str]):
    """What a ``compiledir_format`` may name; each is computed only when it is used."""

    _makers: Mapping[str, Callable[[], str]]

    def __init__(self) -> None:
        self._makers = {
            "gxx_version": _compiler_version,
            "hostname": platform.node,
            "numpy_version": lambda: installed_version("numpy") or "none",
            "platform": platform.platform,
            # On Linux platform.processor() starts a process, to return the machine type.
            "processor": platform.machine,
            "python_bitwidth": lambda: str(sys.maxsize.bit_length() + 1),
            "python_int_bitwidth": lambda: str(sys.maxsize.bit_length() + 1),
            "python_version": platform.python_version,
            "short_platform": lambda: f"{platform.system()}-{platform.machine()}",
            "treadle_version": lambda: installed_version("compile") or "none",
        }

    def __getitem__(self, name: str) -> str:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _compiler_version() -> str:
    """Return the version of the C compiler; `none` where there is none. Only a format that names it runs this."""
    try:
        done = subprocess.run([str(config.cxx), "-dumpversion"], capture_output=True, text=True, check=False)
    except (UnknownOptionError, OSError, ValueError):
        return "none"
    return done.stdout.strip() or "none"


def _base_directory() -> Path:
    return base_directory(os.environ)


def base_directory(environ: Mapping[str, str], *, windows: bool = os.name == "nt") -> Path:
    """Return the default of base_compiledir: a folder in the user's home, on Windows in the local application data."""
    local = environ.get("LOCALAPPDATA") if windows else None
    if local:
        return Path(local) / "Treadle"
    try:
        return Path("~/.treadle").expanduser()
    except RuntimeError:  # a user without a home folder, as in some containers
        return Path(tempfile.gettempdir()) / f"treadle-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _directory() -> Path:
    return Path(config.base_compiledir) / _format_directory(config.compiledir_format)


def _format_directory(text: str) -> str:
    places = _Places()
    try:
        return text % places
    except (KeyError, ValueError, TypeError) as error:
        msg = (
            f"option compiledir_format: {text!r} cannot be filled in ({error!r}). "
            f"Use %(name)s with names from {', '.join(places)}."
        )
        raise OptionValueError(msg) from error


OPTIONS: tuple[Option[object], ...] = (
    Option.path(
        "base_compiledir",
        default=_base_directory,
        doc="The folder that holds the compile directories of all platforms and Python versions.",
        affects_code=False,
        read_only=True,
        scoped=True,
        default_text="~/.treadle; on Windows Treadle in %LOCALAPPDATA%",
    ),
    Option.string(
        "compiledir_format",
        default="compiledir_%(short_platform)s-%(processor)s-%(python_version)s-%(python_bitwidth)s",
        doc="The name of the compile directory inside base_compiledir. It may use %(name)s for: "
        + ", ".join(_Places())
        + ".",
        kind=STR,
        affects_code=False,
        read_only=True,
        scoped=True,
    ),
    Option.path(
        "compiledir",
        default=_directory,
        doc="The compile directory. It is made when first used, private to its user.",
        affects_code=False,
        read_only=True,
        scoped=True,
        default_text="base_compiledir/compiledir_format",
    ),
    Option.integer(
        "compile__wait",
        default=5,
        doc="Seconds between attempts to claim a cache entry that another process is making; each pause is a random "
        "time between this and twice this. An entry that gets ready, or a claim given up, ends the pause.",
        kind=_POSITIVE,
        affects_code=False,
        read_only=True,
        scoped=True,
    ),
    Option.integer(
        "compile__timeout",
        default=lambda: 24 * int(config.compile__wait),
        doc="Seconds after which a claim on a cache entry that its holder has not refreshed is taken over. Holders "
        "refresh theirs every half of this.",
        kind=_POSITIVE,
        affects_code=False,
        read_only=True,
        scoped=True,
        default_text="24 times compile__wait",
    ),
    Option.integer(
        "cache__max_bytes",
        default=4 * 2**30,
        doc="The size in bytes that the compile directory may reach. Beyond it, the entries that were not used for "
        "the longest time are removed.",
        kind=_POSITIVE,
        affects_code=False,
    ),
    Option.string(
        "cache__shared",
        default="",
        doc="Further compile directories that are only read, separated as in PATH: one process fills them, many use "
        "them. Each must be writable by nobody but its owner, and belong to this user or to the administrator.",
        kind=STR,
        affects_code=False,
    ),
    Option.boolean(
        "cache__trust_shared",
        default=False,
        doc="Read folders of cache__shared that belong to other users too. What is in them is run as code.",
        affects_code=False,
    ),
    Option.integer(
        "cmodule__age_thresh_use",
        default=60 * 60 * 24 * 24,
        doc="Seconds after their last use for which entries of the compile directory are used again. Those that were "
        "not used for 7 days more are removed when a process first writes to the directory.",
        kind=_POSITIVE,
        affects_code=False,
        read_only=True,
        scoped=True,
    ),
)
