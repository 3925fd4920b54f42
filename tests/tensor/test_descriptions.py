"""What help and completion say of elementwise functions: a text, a signature and an example of each its own."""

from __future__ import annotations

import doctest
import inspect
import pydoc
from typing import Any

import numpy as np
import pytest

from treadle import tensor as tt
from treadle.tensor import special
from treadle.tensor.elementwise.description import descriptions
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp


def functions() -> dict[str, Elemwise]:
    """Return the elementwise functions that users see, by name."""
    members = {name: getattr(module, name) for module in (tt, special) for name in dir(module)}
    return {name: f for name, f in members.items() if isinstance(f, Elemwise) and isinstance(f.scalar_op, ScalarOp)}


def test_every_function_has_a_description_with_its_operands() -> None:
    names = {f.name for f in functions().values()}
    assert names == set(descriptions())
    for name, row in descriptions().items():
        assert len(row.operands) == SCALAR_OPS[name].nin, name
        assert row.summary.endswith("."), name
        assert getattr(tt, row.called).name == name


def test_examples_print_what_they_say() -> None:
    runner = doctest.DocTestRunner(verbose=False)
    parser = doctest.DocTestParser()
    for name, row in descriptions().items():
        text = getattr(tt, row.called).__doc__
        runner.run(parser.get_doctest(text, {"tt": tt, "np": np}, name, None, 0), out=lambda _: None)
    assert runner.summarize(verbose=False) == doctest.TestResults(0, len(descriptions()))


def test_help_and_signature_are_those_of_the_function() -> None:
    text = pydoc.plain(pydoc.render_doc(tt.gammainc, renderer=pydoc.TextDoc()))
    assert "Regularized lower incomplete gamma function" in text
    assert "float32 for float32" in text
    assert "Refused: complex128." in text
    assert str(inspect.signature(tt.gammainc)) == "(a, x, /, *, name=None)"
    clip: Any = tt.clip
    assert list(inspect.signature(clip).parameters) == ["x", "a_min", "a_max", "name"]
    with_parameters = inspect.signature(Elemwise).parameters
    assert "scalar_op" in with_parameters
    assert str(Elemwise.__doc__).startswith("A scalar function applied elementwise.")


def test_functions_of_others_say_what_their_bodies_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SCALAR_OPS, "_scalar_ops", dict(SCALAR_OPS._scalar_ops))  # only this test knows these

    def excess(x: Any, y: Any) -> Any:
        """Return by how much x is above y, and 0 where it is below."""
        return tt.maximum(x - y, 0)

    op = Elemwise(ScalarOp(name="excess_of_the_test", body=excess))
    assert str(inspect.signature(op)) == "(x, y, /, *, name=None)"
    assert "by how much x is above y" in str(op.__doc__)
    bare = Elemwise(ScalarOp(name="bare_of_the_test", impl=np.hypot, nin=2))
    assert str(bare.__doc__).startswith("bare_of_the_test(x1, x2)\n\nThe function bare_of_the_test of each element.")
