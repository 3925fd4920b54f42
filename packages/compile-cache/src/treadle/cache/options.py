"""The options that treadle.cache reads."""

import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from treadle.config import INT, STR, Option, OptionValueError, config, installed_version

_POSITIVE = INT.where("an integer > 0", lambda value: value > 0)


class _Places(Mapping[str, str]):
    """What a ``compiledir_format`` may name; each is computed only when it is used."""

    _makers: Mapping[str, Callable[[], str]]

    def __init__(self) -> None:
        self._makers = {
            "hostname": platform.node,
            "numpy_version": lambda: installed_version("numpy") or "none",
            "platform": platform.platform,
            # platform.processor() starts a process on Linux; the machine type is what it tells there.
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


def _base_directory() -> Path:
    local = os.environ.get("LOCALAPPDATA") if os.name == "nt" else None
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


OPTIONS: tuple[Option[Any], ...] = (
    Option.path(
        "base_compiledir",
        default=_base_directory,
        doc="The folder that holds the compile directories of all platforms and Python versions.",
        affects_code=False,
    ),
    Option.string(
        "compiledir_format",
        default="compiledir_%(short_platform)s-%(processor)s-%(python_version)s-%(python_bitwidth)s",
        doc="The name of the compile directory inside base_compiledir. It may use %(name)s for: "
        + ", ".join(_Places())
        + ".",
        kind=STR,
        affects_code=False,
    ),
    Option.path(
        "compiledir",
        default=_directory,
        doc="The compile directory: base_compiledir/compiledir_format. It is made when first used, private to its "
        "user. It may change at any time, since entries are found by their content.",
        affects_code=False,
    ),
    Option.integer(
        "compile__wait",
        default=5,
        doc="Seconds between attempts to claim a cache entry that another process is making; each pause is a random "
        "time between this and twice this. An entry that gets ready, or a claim given up, ends the pause.",
        kind=_POSITIVE,
        affects_code=False,
    ),
    Option.integer(
        "compile__timeout",
        default=lambda: 24 * int(config.compile__wait),
        doc="Seconds after which a claim on a cache entry that its holder has not refreshed is taken over. Holders "
        "refresh theirs every half of this. The default is 24 times compile__wait.",
        kind=_POSITIVE,
        affects_code=False,
    ),
    Option.integer(
        "cache__max_bytes",
        default=4 * 2**30,
        doc="The size in bytes that the compile directory may reach. Beyond it, the entries that were not used for "
        "the longest time are removed.",
        kind=_POSITIVE,
        affects_code=False,
    ),
)
