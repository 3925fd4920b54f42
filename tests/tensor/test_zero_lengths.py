"""Every record on arrays without elements: rewriting and compiling keep the result of an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tensor.test_rebuilding import FAMILIES, built, difference, dtype_of, inputs_of, outcome
from treadle.compile import function
from treadle.testing import SAMPLES, Sample, linked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def without(arrays: Sequence[Any], length: int) -> list[Any]:
    """Return arrays in which dimensions of this length have no elements."""
    return [x[tuple(slice(0) if n == length else slice(None) for n in x.shape)] for x in arrays]


def emptied(sample: Sample) -> Iterator[tuple[int, list[Any]]]:
    """Yield each length of a sample's values, and the values without it."""
    arrays = sample.arrays(dtype_of(sample), "plain")
    for length in sorted({n for x in arrays for n in x.shape if n}):
        yield length, without(arrays, length)


def problems(sample: Sample, modes: Sequence[str]) -> list[str]:
    """Return where a sample and its derivatives differ from those without rewriting."""
    cases = dict(emptied(sample))
    if not cases:
        return []
    inputs = inputs_of(sample, None)
    results = built(sample, inputs)
    plain = linked("vm", inputs, results)
    expected = {length: outcome(plain, arrays) for length, arrays in cases.items()}
    texts = []
    for mode in modes:
        run = function(inputs, results, mode=mode, on_unused_input="ignore")
        wrong = {length: difference(outcome(run, arrays), expected[length]) for length, arrays in cases.items()}
        texts += [f"{mode}, without length {length}: {text}" for length, text in wrong.items() if text is not None]
    return [text for text in texts if not sample.refuses_empty or "no error" not in text]


@pytest.mark.parametrize("family", FAMILIES)
def test_rewriting_keeps_what_becomes_of_arrays_without_elements(family: str) -> None:
    assert {str(s): texts for s in SAMPLES.of(family)[:1] if (texts := problems(s, ["VM"]))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_expression_of_arrays_without_elements_is_the_same_compiled(family: str) -> None:
    assert {str(s): texts for s in SAMPLES.of(family) if (texts := problems(s, ["VM", "CVM"]))} == {}
