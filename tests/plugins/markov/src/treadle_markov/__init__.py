"""Rows of probabilities: an op, a fact and a distribution."""

from treadle_markov.ops import NormalizeRows, normalize_rows
from treadle_markov.random import SumUniform, sum_uniform

__all__ = ["NormalizeRows", "SumUniform", "normalize_rows", "sum_uniform"]
# Names that treadle.tensor has in addition where this package is installed.
NAMES = {"treadle.tensor": {"treadle_markov.ops": "NormalizeRows normalize_rows"}}
