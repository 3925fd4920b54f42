"""Helpers that are compiled while a graph is rewritten: once, and again with the program if the guess was wrong."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.cache import default_cache
from treadle.compile import function
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, Op
from treadle.link.c import anticipation
from treadle.link.c.anticipation import anticipate
from treadle.link.c.assembly import helper_head
from treadle.link.c.errors import HelperError
from treadle.link.c.linking import helper_library
from treadle.link.c.objects import HelperObjects, Source
from treadle.link.c.runtime.calls import CALLS
from treadle.link.c.runtime.core import CORE
from treadle.link.c.runtime.iteration import ITERATION
from treadle.link.c.runtime.loops import LOOPS
from treadle.link.c.runtime.product import PRODUCT
from treadle.link.c.runtime.reductions.fused_reduction import FUSED
from treadle.link.c.runtime.reductions.reduction import DRIVER
from treadle.link.c.runtime.shapes import SHAPES
from treadle.link.c.text.prelude import HEADERS, prelude
from treadle.link.c.toolchain import Toolchain, find_toolchain
from treadle.tensor.linalg import cholesky

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

X = np.arange(12.0).reshape(3, 4)


class Ignoring(Op):
    """An op of two inputs, the second of which may be no tensor."""

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was anticipated as yet."""
    monkeypatch.setattr(anticipation, "_ANTICIPATION", anticipation._Anticipation())


def compiled(commands: list[list[str]]) -> int:
    """Return how many object files of helpers the compiler made."""
    return sum("-c" in command and "support" in command[-1] for command in commands)


def step() -> tuple[list[Any], Any]:
    x, w = tt.dmatrix("x"), tt.dmatrix("w")
    return [x, w], tt.sqr(tt.dot(x, w) + 1).sum(axis=0)


def test_program_takes_the_helpers_that_were_compiled_before_it(commands: list[list[str]]) -> None:
    x = tt.dvector("x")
    f = function([x], 2 * x, mode="C")
    np.testing.assert_array_equal(f(X[0]), 2 * X[0])
    assert compiled(commands) == 1


def likelihood() -> tuple[list[Any], Any]:
    x, w, y = tt.dmatrix("x"), tt.dvector("w"), tt.dvector("y")
    score = tt.tanh(x @ w)
    log_odds = x - tt.log(tt.exp(x).sum(axis=1, keepdims=True))
    return [x, w, y], (y * score - tt.log1p(tt.exp(score))).sum() + (log_odds[:, 0] ** 2).mean()


def test_all_helpers_of_a_model_are_foreseen(commands: list[list[str]]) -> None:
    inputs, y = likelihood()
    f = function(inputs, y, mode="C")
    join()
    values = [X, np.ones(4), np.ones(3)]
    assert f(*values) == pytest.approx(function(inputs, y, mode="VM")(*values))
    # Those of all programs and of these ops, begun before the cache was looked into, and functions on vectors.
    assert compiled(commands) == 3


def test_all_helpers_of_a_loop_and_its_gradient_are_foreseen(commands: list[list[str]]) -> None:
    w, h, x = tt.dmatrix("w"), tt.dvector("h"), tt.dmatrix("x")

    def body(carry: Any, row: Any) -> tuple[Any, Any]:
        new = tt.tanh(w @ carry + row)
        return new, new

    # Rewriting leaves two of the three dimensions that stacked columns have.
    _, rows = tt.scan_with_carry(body, h, x, length=5)
    y = tt.sqr(rows).sum()
    inputs, outputs = [w, h, x], [y, *tt.grad(y, [w, h])]
    f = function(inputs, outputs, mode="C")
    join()
    # Those of all programs, those of these ops, and tanh: nothing is compiled with the program, or twice.
    assert compiled(commands) == 3
    values = [np.full((2, 2), 0.5), np.ones(2), np.arange(10.0).reshape(5, 2)]
    for value, expected in zip(f(*values), function(inputs, outputs, mode="VM")(*values), strict=True):
        np.testing.assert_allclose(value, expected)


def test_value_that_is_returned_too_is_not_guessed_to_be_overwritten() -> None:
    x = tt.dmatrix("x")
    s = x @ x.T

    def kernels(*outputs: Any) -> list[str]:
        graph: Any = FunctionGraph([x], list(outputs), clone=True)
        nodes = graph.apply_nodes
        return anticipation._of_kernels(nodes, anticipation._clients(nodes) | graph.clients)

    assert function([x], s, mode="C")(X).shape == (3, 3)
    assert kernels(cholesky(s))
    assert kernels(cholesky(s)) != kernels(s, cholesky(s))


def test_no_helper_of_our_own_needs_headers() -> None:
    toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    library = helper_library(toolchain)
    texts_of = (CORE, ITERATION, CALLS, LOOPS, PRODUCT, FUSED, SHAPES, DRIVER)
    known = " ".join(name for names in texts_of for name in names)
    linked = [name for name in library.linked(known) if library.is_linked(name)]
    assert {"tr_execute", "tr_watch", "tr_fused", "tr_transfer"} < {*linked}
    texts = {name: prelude(helper_head(2, 16) + library.object_text([name])) for name in linked}
    assert [name for name, text in texts.items() if "#include" in text] == []
    assert "clock_gettime" in texts["tr_watch"]


def test_nothing_is_begun_before_the_cache_is_asked_where_helpers_were_compiled(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tt.dvector("x")
    function([x], x + 0.25, mode="C")
    join()
    commands.clear()
    begun: list[object] = []
    monkeypatch.setattr(anticipation, "foresee", begun.append)
    function([x], x + 0.75, mode="C")
    assert begun == []
    with config.change_flags(base_compiledir=str(default_cache().directory / "other")):
        function([x], x + 0.5, mode="C")
    assert len(begun) == 1


def test_helpers_of_one_kind_of_graph_are_anticipated_once(commands: list[list[str]]) -> None:
    x = tt.dvector("x")
    for factor in (2, 3):
        anticipate(FunctionGraph([x], [factor * x], clone=True))
    join()
    assert compiled(commands) == 1


def test_wrong_guess_changes_no_result(commands: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, y = step()
    monkeypatch.setattr(anticipation, "helper_head", lambda *_: helper_head(8, 1024))
    f = function(inputs, y, mode="C")
    np.testing.assert_allclose(f(X, X.T), ((X @ X.T + 1) ** 2).sum(axis=0))
    join()
    assert compiled(commands) >= 2


def test_helpers_that_could_not_be_compiled_before_are_compiled_with_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, y = step()
    make = HelperObjects.make

    def failing(self: HelperObjects, toolchain: Toolchain, source: Source, missing: Sequence[str]) -> Path:
        if threading.current_thread().name == "treadle-c-helpers":
            msg = "no space"
            raise HelperError(msg)
        return make(self, toolchain, source, missing)

    monkeypatch.setattr(HelperObjects, "make", failing)
    with config.change_flags(base_compiledir=str(tmp_path)):
        f = function(inputs, y, mode="C")
        np.testing.assert_allclose(f(X, X.T), ((X @ X.T + 1) ** 2).sum(axis=0))


def test_who_needs_helpers_waits_for_those_that_are_being_compiled(commands: list[list[str]]) -> None:
    toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    library = helper_library(toolchain)
    names = tuple(filter(library.is_linked, library.linked("tr_execute tr_vectors tr_block8")))
    objects = HelperObjects()
    few = Source("", HEADERS + helper_head(2, 16), library, names[:2])
    objects.begin(toolchain, few)
    source = Source("", few.head, library, names)
    files = objects.supply(toolchain, source, names)
    assert len(set(files)) == len(files) == compiled(commands) == 2
    found, missing = objects.find(toolchain, source)
    assert (set(found), missing) == (set(files), [])


def test_graph_with_constants_that_are_no_tensors_is_taken(commands: list[list[str]]) -> None:
    x = tt.dvector("x")
    y = Apply(Ignoring(), [x, tt.NoneConst], [x.type.make_variable()]).outputs[0]
    anticipate(FunctionGraph([x], [y], clone=True))
    join()
    assert compiled(commands) == 1


def join() -> None:
    """Wait until nothing is compiled in the background."""
    for thread in threading.enumerate():
        if thread.name.startswith("treadle-c-") and thread.name != "treadle-c-support":
            thread.join()
