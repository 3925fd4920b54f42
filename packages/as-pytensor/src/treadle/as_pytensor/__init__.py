"""treadle under PyTensor's names: programs that import pytensor run on treadle, unchanged.

``python -m treadle.as_pytensor script.py`` runs a script, `install` does the same from inside of a program, before it
first imports pytensor (or anything that does), and ``TREADLE_AS_PYTENSOR=1`` in the environment with the first import of
this package. Test runs take ``pytest -p treadle.as_pytensor.pytest``.

Nothing is written anywhere, and PyTensor need not be installed. Where it is, treadle takes its place for this process.
"""

from typing import TYPE_CHECKING

from treadle.as_pytensor.installing import AsPyTensorError, install, is_installed, uninstall
from treadle.config import versioned_names

__all__ = ["AsPyTensorError", "install", "is_installed", "uninstall"]

if TYPE_CHECKING:
    __version__: str
else:
    __getattr__ = versioned_names(__name__, "as-pytensor")
