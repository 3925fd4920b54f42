"""Options that treadle.link.torch reads, when a program is linked."""

from __future__ import annotations

from treadle.config import BOOL, INT, STR, Option

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "torch__compile",
        True,
        "Compile PyTorch programs with torch.compile. False runs the same operations one by one: slower, but there "
        "is nothing to compile.",
        BOOL,
    ),
    Option("torch__device", "cpu", "The PyTorch device that programs run on, such as cpu or cuda:0.", STR),
    Option(
        "torch__unroll",
        0,
        "Write out the steps of loops of at most so many, known when they are compiled: the loop then is a part of the "
        "one compiled program. It takes as many times longer to compile as it has steps.",
        INT.where("an integer >= 0", lambda value: value >= 0),
    ),
)
