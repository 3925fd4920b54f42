"""The machine that compiled code is for."""

import platform
from pathlib import Path

from treadle.cache.digests import digest

_TELLING = ("model", "flags", "Features", "vendor", "cpu family", "CPU ")


class _Processor:
    """Reads the description of the processor once."""

    def __init__(self) -> None:
        self._known: str | None = None

    def read(self) -> str:
        if self._known is None:
            self._known = digest(*_description())[:32]
        return self._known


_PROCESSOR = _Processor()


def processor() -> str:
    """Return a digest of the system, and of the processor's model and features."""
    return _PROCESSOR.read()


def _description() -> list[str]:
    about = [platform.system(), platform.machine()]
    try:
        with Path("/proc/cpuinfo").open() as lines:
            for line in lines:
                if not line.strip():
                    break
                if line.startswith(_TELLING):
                    about.append(line.strip())
    except OSError:
        about.append(platform.processor())
    return about
