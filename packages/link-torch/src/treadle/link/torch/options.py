"""Options that treadle.link.torch reads, when a program is linked."""

from __future__ import annotations

from treadle.config import BOOL, INT, STR, Kind, Option


def _parse_compile(setting: object) -> object:
    if isinstance(setting, str) and setting.strip().lower() == "auto":
        return "auto"
    return BOOL.parse(setting)


OPTIONS: tuple[Option[object], ...] = (
    Option(
        "torch__compile",
        "auto",
        "When to compile PyTorch programs with torch.compile: auto when running their operations one by one has cost "
        "more than compiling them would, by estimates from sizes; True at the first call; False never.",
        Kind("bool or auto", _parse_compile, f"'auto', {BOOL.allowed}"),
    ),
    Option(
        "torch__device_outputs",
        False,
        "Return results of PyTorch functions as tensors on their device, without a copy to the host.",
        BOOL,
    ),
    Option("torch__device", "cpu", "The PyTorch device that programs run on, such as cpu or cuda:0.", STR),
    Option(
        "torch__whole_loops",
        True,
        "Compile loops on the CPU as programs of the C backend, where it is installed and has rules for all of a loop. "
        "Others, and all if False, run by PyTorch's operations, which Python leads from step to step.",
        BOOL,
    ),
    Option(
        "torch__unroll",
        0,
        "Write out the steps of loops of at most so many, known when they are compiled: the loop then is a part of the "
        "one compiled program. It takes as many times longer to compile as it has steps.",
        INT.where("an integer >= 0", lambda value: value >= 0),
    ),
)
