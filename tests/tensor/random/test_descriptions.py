"""What help and completion say of distributions: parameters, signature and an example of each."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import numpy as np

from treadle import tensor as tt
from treadle.tensor.random import RandomVariable
from treadle.tensor.random.op import REQUIRED


def distributions() -> dict[str, Any]:
    """Return the distributions that users see, by name, each once."""
    members = {name: getattr(tt.random, name) for name in dir(tt.random)}
    return {str(op.name): op for op in members.values() if isinstance(op, RandomVariable)}


def test_every_distribution_tells_its_parameters_and_runs_its_example() -> None:
    runner = doctest.DocTestRunner(verbose=False)
    parser = doctest.DocTestParser()
    ops = distributions()
    assert len(ops) >= 75
    for name, op in ops.items():
        signature = inspect.signature(op)
        assert [*signature.parameters][: len(op.parameters)] == [*op.parameters], name
        assert all(
            (p.default is p.empty) == (op.parameters[key] is REQUIRED)
            for key, p in signature.parameters.items()
            if key in op.parameters
        ), name
        runner.run(parser.get_doctest(op.__doc__, {"tt": tt, "np": np}, name, None, 0), out=lambda _: None)
    assert runner.summarize(verbose=False) == doctest.TestResults(0, len(ops))


def test_signature_and_docstring_are_the_distributions() -> None:
    normal: Any = tt.random.normal
    assert str(inspect.signature(normal)) == (
        "(loc=0.0, scale=1.0, size=None, *, name=None, rng=None, dtype=None, return_next_rng=False)"
    )
    assert str(normal.__doc__).startswith("normal(loc=0.0, ")
    mvn: Any = tt.random.multivariate_normal
    assert "cov\n    Matrix of the shape (n, n), or a batch of such.\n" in mvn.__doc__
    assert "Of the shape size + (n,)." in mvn.__doc__
    assert "method" in inspect.signature(mvn).parameters
    assert str(type(normal).__doc__).startswith("The normal distribution")
    assert "name" in inspect.signature(RandomVariable).parameters


def test_a_class_that_does_not_tell_its_parameters_keeps_its_text() -> None:
    class Coin(RandomVariable):
        """A coin."""

        name = "coin_of_the_test"
        signature = "()->()"
        dtype = "int64"

    assert Coin().__doc__ == "A coin."
    assert "args" in inspect.signature(Coin()).parameters
