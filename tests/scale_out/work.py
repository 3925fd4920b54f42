"""What tests send to workers, in a module that these can import."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep

import numpy as np

from treadle.compile.functions.maps.parcels import KEPT
from treadle.compile.stored.programs import FUNCTIONS


def counts(wait: float = 0.0) -> tuple[int, int, int]:
    """Return the process, how many functions it unpickled, and how many it made rather than loaded."""
    sleep(wait)
    return os.getpid(), KEPT.loads, FUNCTIONS.counts.made


def positive_root(x: np.ndarray) -> np.ndarray:
    """Return the root, or fail in a way of its own."""
    if x < 0:
        raise OwnError(float(x), "negative")
    root: np.ndarray = np.sqrt(x)
    return root


class OwnError(ValueError):
    """An error whose pickle cannot be loaded."""

    def __init__(self, value: float, what: str) -> None:
        super().__init__(f"{what}: {value}")


def slow_root(x: np.ndarray, folder: np.ndarray) -> np.ndarray:
    """Take some time, leave a file in a folder for each call, and return the root or fail."""
    sleep(0.05)
    Path(folder.tobytes().decode(), str(float(x))).touch()
    return positive_root(x)
