"""Options that treadle.link.array_api reads, when a program is linked."""

from __future__ import annotations

from treadle.config import BOOL, STR, Option

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "array_api__namespace",
        "numpy",
        "The array library that mode ARRAY_API computes with: the name of a namespace of the array API standard, such "
        "as numpy, jax.numpy, cupy or torch. One whose own module does not follow the standard, such as torch, is "
        "taken from the package array-api-compat.",
        STR,
    ),
    Option(
        "array_api__device",
        "",
        "The device of that library to compute on, by the name that its functions take, such as cuda:0; its default "
        "device if empty.",
        STR,
    ),
    Option(
        "array_api__device_outputs",
        False,
        "Return results of functions of mode ARRAY_API as the library's own arrays, without a copy to NumPy.",
        BOOL,
    ),
)
