"""A rule beside what its op decomposes into carries the ratio that it wins, and wins, or says why it is there."""

from benchmarks.lowerings import CASES
from tools.lowering_ratios import ENOUGH, by_rule
from tools.lowerings import pairs


def test_every_rule_beside_a_decomposition_has_its_ratios_and_no_other() -> None:
    sizes = {key: [line.size for line in lines] for key, lines in by_rule().items()}
    assert sizes == {(op, backend): list(CASES[op]) for op, backend in pairs()}, "run ./dev bench lowerings"


def test_a_rule_that_wins_nothing_has_a_reason() -> None:
    without = [
        key
        for key, lines in by_rule().items()
        if max(line.ratio for line in lines) <= ENOUGH and not all(line.reason for line in lines)
    ]
    assert without == [], "remove the rule, or write its reason into tools/lowering_ratios.tsv"


def test_a_rule_that_wins_needs_no_reason() -> None:
    with_reason = [
        key
        for key, lines in by_rule().items()
        if max(line.ratio for line in lines) > ENOUGH and any(line.reason for line in lines)
    ]
    assert with_reason == []
