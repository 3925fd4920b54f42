"""treadle.link.torch: the PyTorch backend. PyTorch itself is imported when the first program is linked."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.torch.backend import BACKEND
from treadle.link.torch.errors import ForkedProcessError, PyTorchWarning
from treadle.link.torch.table import TORCH, Checked

if TYPE_CHECKING:
    from treadle.link.torch.external_op import TorchOp, wrap_torch
    from treadle.link.torch.scalars import SCALARS

__all__ = [
    "BACKEND",
    "SCALARS",
    "TORCH",
    "Checked",
    "ForkedProcessError",
    "PyTorchWarning",
    "TorchOp",
    "wrap_torch",
]
__getattr__ = versioned_names(
    __name__,
    "link-torch",
    {
        "treadle.link.torch.scalars": "SCALARS",
        "treadle.link.torch.external_op": "TorchOp wrap_torch",
    },
)
