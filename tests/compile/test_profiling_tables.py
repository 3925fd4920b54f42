"""What profiles print, and the options that change it."""

import io
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.compile.profiling import ProfileStats
from treadle.config import config


def profiled(**flags: Any) -> ProfileStats:
    x = tt.dvector("x")
    out = tt.exp(x)
    for op in (tt.cosh, tt.sinh, tt.arctan, tt.sqrt):
        out = op(out)
    with config.change_flags(**flags):
        stats = ProfileStats(atexit_print=False)
        f = function([x], out, mode="FAST_COMPILE", profile=stats, name="model")
    f(np.ones(4))
    return stats


def text_of(stats: ProfileStats, **flags: Any) -> str:
    out = io.StringIO()
    with config.change_flags(**flags):
        stats.summary(out)
    return out.getvalue()


def rows(text: str, section: str) -> list[str]:
    lines = text.partition(f"{section}\n{'-' * len(section)}\n")[2].split("\n\n")[0].splitlines()
    return [line for line in lines[1:] if not line.startswith("...")]


@pytest.mark.documents("ProfileStats.summary")
def test_summary_has_a_section_for_calls_compilation_classes_ops_and_nodes() -> None:
    text = text_of(profiled())
    places = [
        text.index(part)
        for part in (
            "Function profiling",
            "Message: model",
            "Function: model in mode FAST_COMPILE on backend vm, compiled at test_profiling_tables.py",
            "Time in 1 calls",
            "Total compile time",
            "Compile cache:",
            "\nClass\n",
            "\nOps\n",
            "\nApply\n",
        )
    ]
    assert places == sorted(places)
    assert len(rows(text, "Ops")) == len(rows(text, "Apply")) == 5


def test_nodes_are_listed_with_the_users_line_and_shapes() -> None:
    for row in rows(text_of(profiled()), "Apply"):
        assert "-> (4,)" in row
        assert "test_profiling_tables.py:" in row


def test_costliest_come_first_and_shares_sum_up() -> None:
    for section in ("Class", "Ops", "Apply"):
        shares = [float(row.split("%")[0]) for row in rows(text_of(profiled()), section)]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(100, abs=0.5)


@pytest.mark.documents(
    "option:profiling__n_ops",
    "option:profiling__n_apply",
    "ProfileStats.summary.n_ops_to_print",
    "ProfileStats.summary.file",
    "ProfileStats.summary.n_apply_to_print",
)
def test_number_of_ops_and_nodes_listed_can_be_set() -> None:
    stats = profiled()
    text = text_of(stats, profiling__n_ops=2, profiling__n_apply=3)
    assert (len(rows(text, "Ops")), len(rows(text, "Apply"))) == (2, 3)
    assert "(3 further ones take " in text
    assert "(2 further nodes take " in text
    out = io.StringIO()
    stats.summary(out, n_ops_to_print=1, n_apply_to_print=4)
    assert (len(rows(out.getvalue(), "Ops")), len(rows(out.getvalue(), "Apply"))) == (1, 4)


def test_options_of_the_time_when_the_profile_was_made_count_where_none_are_set_now() -> None:
    stats = profiled(profiling__n_ops=2)
    assert len(rows(text_of(stats), "Ops")) == 2
    assert len(rows(text_of(stats, profiling__n_ops=3), "Ops")) == 3


@pytest.mark.documents("option:profiling__output_line_width")
def test_lines_are_cut_at_the_width() -> None:
    stats = profiled()
    assert max(map(len, text_of(stats, profiling__output_line_width=40).splitlines())) == 40
    assert max(map(len, text_of(stats).splitlines())) > 40


@pytest.mark.documents("option:profiling__debugprint")
def test_graphs_are_printed_if_asked_for() -> None:
    stats = profiled()
    assert "Graph of model" not in text_of(stats)
    text = text_of(stats, profiling__debugprint=True).partition("Graph of model")[2]
    assert "Exp" in text
    assert "Sqrt" in text


@pytest.mark.documents("option:profiling__destination")
def test_summary_goes_to_the_destination(capfd: pytest.CaptureFixture[str]) -> None:
    stats = profiled()
    stats.summary()
    with config.change_flags(profiling__destination="stdout"):
        stats.summary()
    out, err = capfd.readouterr()
    assert out == err
    assert out.startswith("Function profiling\n")


@pytest.mark.documents(
    "ProfileStats.summary_function",
    "ProfileStats.summary_class",
    "ProfileStats.summary_ops",
    "ProfileStats.summary_nodes",
)
def test_sections_print_by_themselves() -> None:
    stats = profiled()
    files = [io.StringIO() for _ in range(4)]
    stats.summary_function(files[0])
    stats.summary_class(files[1], 1)
    stats.summary_ops(files[2], 2)
    stats.summary_nodes(files[3], 3)
    assert "Total compile time" in files[0].getvalue()
    for out, section, count in zip(files[1:], ("Class", "Ops", "Apply"), (1, 2, 3), strict=True):
        assert len(rows(out.getvalue(), section)) == count


def test_profile_of_nothing_prints() -> None:
    text = text_of(ProfileStats(atexit_print=False))
    assert "no function yet" in text
    assert "Time in 0 calls" in text


@pytest.mark.documents("ProfileStats.message")
def test_functions_of_one_profile_are_told_apart() -> None:
    x = tt.dvector("x")
    stats = ProfileStats(atexit_print=False, message="both")
    for name, out in (("first", tt.exp(x)), ("second", tt.exp(x) + 1)):
        function([x], out, mode="VM", profile=stats, name=name)([1.0])
    text = text_of(stats)
    assert "Message: both" in text
    assert "Time in 2 calls" in text
    lines = rows(text, "Apply")
    assert any(row.endswith(" in first") for row in lines)
    assert any(row.endswith(" in second") for row in lines)
    (exp,) = [row for row in rows(text, "Ops") if row.endswith(" Exp")]
    assert exp.split()[-5:-2] != ["1", "1"]


def test_repr_names_title_and_calls() -> None:
    assert repr(profiled()).startswith("ProfileStats('model', 1 calls, ")
