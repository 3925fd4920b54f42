"""The command ``treadle rewrites``."""

from pathlib import Path

import pytest

from treadle.compile.command_line import main

PROGRAM = """
import treadle.tensor as tt
from treadle.compile import function

x = tt.dvector("x")
inner = tt.log(1 + tt.exp(x))
total = inner.sum()
compiled = function([x], total, mode="VM")
number = 3
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "model.py"
    path.write_text(PROGRAM)
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["rewrites", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["rewrites", *arguments]) == 2
    return capsys.readouterr().err


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def test_rules_are_listed_by_op_and_tag(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "list", "--op", "log")
    assert "log_of_one_plus_exp" in text
    assert "log(add(1, exp(x))) -> softplus(x)." in text
    assert "elementwise_fusion" not in text
    text = printed(capsys, "list", "--tag", "fusion")
    assert "elementwise_fusion" in text
    assert "log_of_one_plus_exp" not in text
    assert "exponential.py" in printed(capsys, "list")


def test_rule_is_shown_with_all_there_is_to_know(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "show", "log_of_one_plus_exp")
    assert "law log(add(1, exp(x))) -> softplus(x)." in text
    assert "runs in stabilize" in text
    assert "looks at Log" in text
    assert "canonicalize is a database of" in printed(capsys, "show", "canonicalize")


def test_rules_that_change_a_graph_are_shown_in_order(capsys: pytest.CaptureFixture[str], program: str) -> None:
    for name in ("total", "compiled"):
        text = printed(capsys, "show", f"{program}:{name}")
        assert 'stabilize: log_of_one_plus_exp on Log at model.py:6 "inner = tt.log(1 + tt.exp(x))"' in text
    assert "log_of_one_plus_exp" not in printed(capsys, "show", f"{program}:total", "--include", "fusion")


def test_reason_is_given_for_the_variable_or_what_it_is_computed_from(
    capsys: pytest.CaptureFixture[str], program: str
) -> None:
    assert "log_of_one_plus_exp applied" in printed(capsys, "why", "log_of_one_plus_exp", f"{program}:inner")
    assert "log_of_one_plus_exp applied" in printed(capsys, "why", "log_of_one_plus_exp", f"{program}:total")
    text = printed(capsys, "why", "log_of_exp", f"{program}:inner")
    assert "log_of_exp did not apply: the pattern's part exp(x) meets the result of Add" in text
    text = printed(capsys, "why", "log_of_exp", f"{program}:inner", "--include", "fusion")
    assert "the query includes fusion, and it carries" in text


def test_unknown_names_are_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert "Did you mean log_of_exp" in refused(capsys, "why", "log_of_exq", f"{program}:inner")
    assert "defines no 'nothing'. Its variables and functions: compiled, inner, total, x" in refused(
        capsys, "why", "log_of_exp", f"{program}:nothing"
    )
    assert "there is no file" in refused(capsys, "show", "elsewhere.py:x")
    assert "must be a variable that an op computes" in refused(capsys, "why", "log_of_exp", f"{program}:number")
    assert "no op is called 'lag'" in refused(capsys, "list", "--op", "lag")
    assert "Did you mean" in refused(capsys, "show", "log_of_exq")


def test_variable_must_be_named(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert f"{program!r} names no variable. Give FILE.py:VARIABLE" in refused(capsys, "why", "log_of_exp", program)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = 1\ny = x + z\n", "NameError in line 2, \"y = x + z\": name 'z' is not defined"),
        ("x = (1\n", "SyntaxError in line 1: '(' was never closed"),
        ("import sys\nsys.exit(3)\n", 'SystemExit in line 2, "sys.exit(3)": 3'),
        ("import treadle.tensor as tt\ny = tt.exp('a')\n", "in line 2, \"y = tt.exp('a')\""),
    ],
    ids=["name", "syntax", "exit", "ours"],
)
def test_mistake_in_the_program_is_reported_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, fault: str
) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    said_of_it = refused(capsys, "show", f"{path}:y")
    assert fault in said_of_it
    assert said_of_it.count("\n") == 1


def test_action_must_be_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["rewrites", "dance"])
    assert "invalid choice: 'dance'" in capsys.readouterr().err
