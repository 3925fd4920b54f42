"""Options that treadle.link.torch reads, when a program is linked."""

from __future__ import annotations

from treadle.config import BOOL, STR, Option

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "torch__compile",
        True,
        "Compile PyTorch programs with torch.compile. False runs the same operations one by one: slower, but there "
        "is nothing to compile.",
        BOOL,
    ),
    Option(
        "torch__device",
        "cpu",
        "The PyTorch device that programs run on, such as cpu or cuda:0.",
        STR,
    ),
)
