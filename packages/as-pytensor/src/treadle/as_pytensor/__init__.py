"""treadle under PyTensor's names: programs that import pytensor run on treadle, unchanged.

``python -m treadle.as_pytensor script.py`` runs a script, and ``pytest -p treadle.as_pytensor.pytest`` runs tests. In a
program, `install` does it before anything imports pytensor. With ``TREADLE_AS_PYTENSOR=1`` in the environment, every
Python that starts does it, such as those of notebooks and workers.

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
