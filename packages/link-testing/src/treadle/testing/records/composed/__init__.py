"""Records of functions that only put ops together, by what they are about; the ops have records of their families."""

from treadle.testing.records.composed import areas, numbers, sets, shapes, signals

__all__ = ["areas", "numbers", "sets", "shapes", "signals"]
