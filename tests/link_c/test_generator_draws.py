"""NumPy's generators in C: the numbers of their methods and the state after them, bit for bit."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor.random as tr
from tests.tensor.random.generator_cases import KINDS, REFUSED, Chain, Draw, all_draws
from treadle.compile import function
from treadle.config import config
from treadle.tensor.random.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def chain() -> Chain:
    return Chain(all_draws())


@pytest.fixture(scope="module")
def programs() -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_those_of_numpys_methods(
    kind: str, chain: Chain, programs: dict[str, Any], link: Callable[..., Any]
) -> None:
    if not programs:
        programs["c"] = link(chain.inputs, chain.outputs)
    chain.compare(programs["c"], kind)


def test_parameters_that_numpy_refuses_are_refused_with_its_words(link: Callable[..., Any]) -> None:
    programs: dict[Any, Any] = {}
    words = words_of(np.random.default_rng(3))
    for name, parameters, text in REFUSED:
        draw = Draw.of(name, parameters)
        values = draw.values()
        key = name, tuple(v.ndim for v in values)
        if key not in programs:
            alone = Chain([draw])
            programs[key] = link(alone.inputs, alone.outputs)
        before = words.copy()
        with pytest.raises(ValueError, match=text):
            programs[key](words, np.array(4), np.array(4), *values)
        np.testing.assert_array_equal(words, before)


def test_a_negative_length_and_a_parameter_that_does_not_fit_are_refused(link: Callable[..., Any]) -> None:
    chain = Chain([Draw("normal", "float64", (0.0, 1.0), 1), Draw("normal", "float64", (np.zeros(4), 1.0), 2)])
    program = link(chain.inputs, chain.outputs)
    words, numbers = words_of(np.random.default_rng(3)), [np.array(0.0), np.array(1.0)]
    with pytest.raises(ValueError, match="negative dimensions"):
        program(words, np.array(-1), np.array(1), *numbers, np.zeros(4), np.array(1.0))
    with pytest.raises(ValueError, match="does not broadcast to the size"):
        program(words, np.array(3), np.array(1), *numbers, np.zeros(5), np.array(1.0))


def test_bounds_are_not_looked_at_where_no_integers_are_drawn(link: Callable[..., Any]) -> None:
    chain = Chain([Draw("integers", "int64", (5, 3), 1)])
    words, drawn = link(chain.inputs, chain.outputs)(words_of(np.random.default_rng(3)), *map(np.array, (0, 1, 5, 3)))
    assert drawn.shape == (0,)
    np.testing.assert_array_equal(words, words_of(np.random.default_rng(3)))


_WARM = """
import numpy as np
import treadle.tensor.random as tr
from treadle.compile import function
from treadle.config import config
config.base_compiledir = {folder!r}
rng = tr.shared_rng(np.random.Generator(np.random.SFC64(3)))
after, drawn = tr.normal(1.0, 2.0, size=(2, 3), rng=rng, return_next_rng=True)
f = function([], drawn, updates={{rng: after}}, mode="C")
expected = np.random.Generator(np.random.SFC64(3))
for _ in range(2):
    np.testing.assert_array_equal(f(), expected.normal(1.0, 2.0, size=(2, 3)))
import sys
print("treadle.link.c.text.unit" in sys.modules)
"""


def test_another_process_finds_the_samplers_without_compiling(tmp_path: Any) -> None:
    command = [sys.executable, "-c", _WARM.format(folder=str(tmp_path))]
    printed = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() for _ in range(2)]
    assert printed == ["True", "False"]


def test_threads_that_share_a_generator_draw_no_number_twice() -> None:
    rng = tr.shared_rng(seed=5)
    after, drawn = tr.normal(size=(50,), rng=rng, return_next_rng=True)
    draw = function([], drawn, updates={rng: after}, mode="C")
    numbers: list[np.ndarray] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        numbers.extend(draw() for _ in range(40))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = np.random.default_rng(5).normal(size=(320, 50))
    np.testing.assert_array_equal(np.sort(np.concatenate(numbers)), np.sort(expected.ravel()))


def test_draws_follow_each_other_where_loops_are_shared_among_threads(link: Callable[..., Any]) -> None:
    draws = [Draw("normal", "float64", (1.0, 2.0), 2), Draw("dirichlet", "float64", (np.array([1.0, 2.0]),), 2)]
    with config.change_flags(openmp=True, openmp_elemwise_minsize=1):
        chain = Chain(draws)
        chain.compare(link(chain.inputs, chain.outputs), "PCG64", lengths=((200, 30), (31, 100)))
