"""Which level of the instruction set a processor is at."""

from __future__ import annotations

import pytest

from treadle.link.c.support.levels import LEVELS, level_of

X86 = {level.name: level for level in LEVELS["x86_64"]}
NAMES = ["x86-64-v4", "x86-64-v3", "x86-64-v2"]


@pytest.mark.parametrize("name", NAMES)
def test_processor_with_all_that_a_level_has_is_at_it(name: str) -> None:
    assert level_of("x86_64", X86[name].needs | {"fpu", "sse"}) == name


@pytest.mark.parametrize(("level", "feature"), [(name, f) for name in NAMES for f in sorted(X86[name].needs)])
def test_processor_without_a_feature_is_at_no_level_above(level: str, feature: str) -> None:
    below = NAMES[NAMES.index(level) + 1 :]
    assert level_of("x86_64", X86[level].needs - {feature}) in {*below, ""}


@pytest.mark.parametrize(
    "features",
    [X86["x86-64-v2"].needs | {"avx", "fma"}, X86["x86-64-v3"].needs | {"avx512f", "avx512cd"}, frozenset({"sse2"})],
    ids=["quick fused multiplication", "wider vectors", "less than the lowest"],
)
def test_processor_between_two_levels_is_at_none(features: frozenset[str]) -> None:
    assert level_of("x86_64", features) == ""


def test_other_kinds_of_machines_have_levels_of_their_own_or_none() -> None:
    assert level_of("aarch64", frozenset({"fp", "asimd", "sve"})) == "armv8-a"
    assert level_of("riscv64", X86["x86-64-v4"].needs) == ""
