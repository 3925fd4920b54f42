"""Rules of the array API backend, by the standard's extension linalg: importing the modules registers them."""

from treadle.tensor.linalg.lower.array_api import decompositions, systems

__all__ = ["decompositions", "systems"]
