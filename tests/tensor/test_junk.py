"""What public functions answer to junk: errors in their own name, none of anybody else's (counts: docs/junk.md)."""

from collections import Counter

import pytest

from tests.tensor.junk import CALLBACK, FOREIGN, NAMED, OTHERWISE, SLOW, answers, bases, junk

# How much of all answers may be other than it should: what is known and told on the page.
MOST_OTHERWISE = 0.02
MOST_FOREIGN = 0.002


def test_a_sample_of_the_functions_answers_in_its_own_name() -> None:
    found = list(answers(bases(records=False)[::6], junk(), count=2))
    counts = Counter(answer.kind for answer in found)
    assert counts[NAMED] > 10 * counts[OTHERWISE]
    assert [answer for answer in found if answer.kind in {FOREIGN, SLOW}] == []


@pytest.mark.slow
def test_every_function_answers_in_its_own_name() -> None:
    found = list(answers(bases(), junk(), count=15))
    counts = Counter(answer.kind for answer in found)
    total = counts.total() - counts[CALLBACK]
    assert counts[OTHERWISE] <= MOST_OTHERWISE * total, [a for a in found if a.kind == OTHERWISE][:20]
    assert counts[FOREIGN] <= MOST_FOREIGN * total, [a for a in found if a.kind == FOREIGN][:20]
    assert counts[SLOW] == 0, [a for a in found if a.kind == SLOW]
