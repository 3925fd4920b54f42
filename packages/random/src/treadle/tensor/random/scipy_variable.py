"""ScipyRandomVariable: random variables whose draws are those of `scipy.stats`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from treadle.tensor.random.class_draws import of_op_or_class
from treadle.tensor.random.op import RandomVariable

__all__ = ["ScipyRandomVariable"]


class ScipyRandomVariable(RandomVariable):
    """A random variable that one of `scipy.stats` draws: it runs in Python.

    A subclass defines `rng_fn_scipy`, which passes the generator on as ``random_state``.
    """

    @classmethod
    @abstractmethod
    def rng_fn_scipy(cls, rng: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a draw: ``rng_fn_scipy(rng, *dist_params, size)``."""

    @of_op_or_class
    def rng_fn(self, rng: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a draw."""
        return self.rng_fn_scipy(rng, *args, **kwargs)
