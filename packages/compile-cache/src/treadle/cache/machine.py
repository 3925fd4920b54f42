"""The machine that compiled code is for."""

import platform
from functools import cache
from pathlib import Path

from treadle.cache.digests import digest

_TELLING = ("model", "flags", "Features", "vendor", "cpu family", "CPU ")


@cache
def processor() -> str:
    """Return a digest of the system, and of the processor's model and features."""
    return digest(*_description())[:32]


def _description() -> list[str]:
    about = [platform.system(), platform.machine()]
    try:
        with Path("/proc/cpuinfo").open() as file:
            for line in file:
                if not line.strip():
                    break
                if line.startswith(_TELLING):
                    about.append(line.strip())
    except OSError:
        about.append(platform.processor())
    return about
