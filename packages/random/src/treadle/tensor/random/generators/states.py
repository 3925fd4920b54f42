"""Ops between generators and their states, which loops and choices of any graph know too."""

from treadle.tensor.loops.states import GeneratorInState, GeneratorState

__all__ = ["GeneratorInState", "GeneratorState"]
