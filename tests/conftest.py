"""A compile directory of the tests' own, so that they neither read nor fill the user's; no limits of time."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

_FLAGS = "TREADLE_FLAGS"


def _keep_apart() -> None:
    """Name a folder of the checkout as compile directory, unless one is named already; workers and children share it.

    It stays from one run to the next: what was compiled once is loaded, as it is in use. Fresh runs begin with
    ``git clean -xdf .cache``.
    """
    given = os.environ.get(_FLAGS, "")
    if "compiledir" in given:
        return
    folder = Path(__file__).parent.parent / ".cache" / "tests"
    os.environ[_FLAGS] = f"{given},base_compiledir={folder}".lstrip(",")


_keep_apart()

# How long a test takes says more about what else the machine does than about the test.
settings.register_profile("treadle", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("treadle")
