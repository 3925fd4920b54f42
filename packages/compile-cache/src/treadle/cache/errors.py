"""The errors and warnings of the compile cache."""

from treadle.config import TreadleError, TreadleWarning


class CacheKeyError(TreadleError, ValueError):
    """A key is not one that `digest` makes."""


class CacheFormatError(TreadleError, ValueError):
    """The bytes of an entry are damaged, truncated, or not an entry of this version."""


class CacheWarning(TreadleWarning):
    """The cache directory cannot be used, so compiled code lasts only as long as the process."""
