"""treadle.link.torch: the PyTorch backend. PyTorch itself is imported when the first program is linked."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.torch.backend import BACKEND
from treadle.link.torch.errors import ForkedProcessError, PyTorchWarning
from treadle.link.torch.table import TORCH, Change, Checked, Flag, InPlace, Lowered, Results

if TYPE_CHECKING:
    from treadle.link.torch.external_op import TorchOp, wrap_torch
    from treadle.link.torch.functional import TorchFunction
    from treadle.link.torch.looking import all_finite, can_look
    from treadle.link.torch.programs.storage import SIGN_BIT, STORAGE_DTYPES, converter, kind, to_output_dtype, working
    from treadle.link.torch.scalars import SCALARS

    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "link-torch",
        {
            "treadle.link.torch.external_op": "TorchOp wrap_torch",
            "treadle.link.torch.functional": "TorchFunction",
            "treadle.link.torch.looking": "all_finite can_look",
            "treadle.link.torch.programs.storage": "SIGN_BIT STORAGE_DTYPES converter kind to_output_dtype working",
            "treadle.link.torch.scalars": "SCALARS",
        },
    )

__all__ = [
    "BACKEND", "SCALARS", "SIGN_BIT", "STORAGE_DTYPES", "TORCH", "Change", "Checked", "Flag", "ForkedProcessError",
    "InPlace", "Lowered", "PyTorchWarning", "Results", "TorchFunction", "TorchOp", "all_finite", "can_look",
    "converter", "kind", "to_output_dtype", "working", "wrap_torch",
]  # fmt: skip
