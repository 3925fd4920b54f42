"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.ops.type_casting import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.surface.ops.type_casting": "TypeCastingOp",
            "treadle.graph": "DeepCopyOp ViewOp deep_copy_op view_op",
            "treadle.tensor": "FromFunctionOp as_op wrap_py",
        },
    )
