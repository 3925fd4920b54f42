"""treadle.link.torch: the PyTorch backend. PyTorch itself is imported when the first program is linked."""

from treadle.link.torch.backend import BACKEND
from treadle.link.torch.errors import ForkedProcessError, PyTorchWarning, UnsupportedError
from treadle.link.torch.table import TORCH, Checked

__all__ = [
    "BACKEND",
    "TORCH",
    "Checked",
    "ForkedProcessError",
    "PyTorchWarning",
    "UnsupportedError",
]
