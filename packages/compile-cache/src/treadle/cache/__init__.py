"""The compile cache of treadle: content-addressed, shared by all backends and processes of a user."""

from typing import TYPE_CHECKING

from treadle.cache.cache import Cache, EntryInfo, default_cache
from treadle.cache.digests import digest
from treadle.cache.errors import CacheFormatError, CacheKeyError, CacheWarning
from treadle.cache.machine import processor
from treadle.cache.sources import LIBRARIES, SOURCES, Sources
from treadle.cache.statistics import Statistics
from treadle.config import versioned_names

__all__ = [
    "LIBRARIES", "SOURCES", "Cache", "CacheFormatError", "CacheKeyError", "CacheWarning", "EntryInfo", "Sources",
    "Statistics", "default_cache", "digest", "processor",
]  # fmt: skip

if TYPE_CHECKING:
    __version__: str
else:
    __getattr__ = versioned_names(__name__, "compile-cache")
