"""Instruction-set levels: what code that is compiled elsewhere may use, and which of them a processor is at.

Code of a level must give the same bits as code for the processor itself (``-march=native``): functions on vectors have
other last bits at another width, and texts compute in another way where a fused multiplication is quick. A processor
that has a part of what the next level has is therefore at none.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Level(NamedTuple):
    """One level: its name, which is an argument of ``-march``, and features as /proc/cpuinfo names them."""

    name: str
    # What a processor has to have, and what it must not have.
    needs: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()

    def suits(self, features: frozenset[str]) -> bool:
        """Whether a processor with these features is at this level."""
        return self.needs <= features and not self.excludes & features


_V2 = frozenset(["cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"])
_V3 = _V2 | frozenset(["abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"])
_V4 = _V3 | frozenset(["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"])

LEVELS = {
    "x86_64": (
        Level("x86-64-v4", _V4),
        Level("x86-64-v3", _V3, frozenset({"avx512f"})),
        Level("x86-64-v2", _V2, frozenset({"avx2", "avx512f", "fma"})),
    ),
    # Vectors of texts have 16 bytes, and fused multiplication is quick, on all of them.
    "aarch64": (Level("armv8-a"),),
}
"""The levels of each kind of machine, of which a processor is at one or none."""
# What every processor of a kind runs: for code that computes nothing.
BASELINES = {"x86_64": "x86-64", "aarch64": "armv8-a"}


@cache
def processor_level() -> str:
    """Return the name of the level that this machine's processor is at, or an empty text."""
    return level_of(platform.machine(), _features())


def level_of(machine: str, features: frozenset[str]) -> str:
    """Return the name of the level that a processor with these features is at, or an empty text."""
    return next((level.name for level in LEVELS.get(machine, ()) if level.suits(features)), "")


def _features() -> frozenset[str]:
    """Return the features of the first processor; none where the system does not tell them."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()
