"""treadle.surface: what PyTensor's documentation names and treadle itself does not need."""

from typing import TYPE_CHECKING

# Modules of this package are loaded while treadle.graph is. Whoever asks for one of them first gets that done before.
from treadle import graph as graph
from treadle.config import versioned_names

if TYPE_CHECKING:
    __version__: str
else:
    __getattr__ = versioned_names(__name__, "pytensor-surface")
