"""The installed backends that work on this machine, for parametrisation."""

from treadle.config import EntryPointLoadError
from treadle.testing import backend_names, find_backend


def _works(name: str) -> bool:
    try:
        return find_backend(name).unavailable() is None
    except EntryPointLoadError:
        # The backend is broken, not absent: its tests must fail.
        return True


BACKENDS = tuple(name for name in backend_names() if _works(name))
