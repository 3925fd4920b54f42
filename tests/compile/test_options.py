"""Options that treadle.compile reads, and that a function keeps those it was compiled with."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Mode, function
from treadle.compile.command_line import main
from treadle.compile.mode import get_mode
from treadle.config import OptionValueError, config
from treadle.graph import NodeValueError


def test_function_keeps_the_options_it_was_compiled_with() -> None:
    x = tt.fvector("x")
    with config.change_flags(floatX="float32", allow_gc=False, exception_verbosity="medium"):
        compiled = function([x], x * 2, mode="VM")
    assert (compiled.maker.options["floatX"], compiled.maker.options["allow_gc"]) == ("float32", False)
    assert config.floatX == "float64"
    y = tt.fscalar("y")
    with config.change_flags(floatX="float32"):
        takes_floats = function([y], y * 2, mode="VM")
    # 0.1 is not a float32; it is accepted because floatX was float32 when the function was made.
    assert takes_floats(0.1).dtype == np.float32
    with config.change_flags(floatX="float64"), pytest.raises(TypeError, match="would lose precision"):
        function([y], y * 2, mode="VM")(0.1)


def test_eval_compiles_again_where_options_differ() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    total = x + y
    values = {x: np.ones(2), y: np.ones(3)}
    for verbosity, lines in (("low", False), ("medium", True), ("low", False)):
        with config.change_flags(exception_verbosity=verbosity), pytest.raises(NodeValueError) as caught:
            total.eval(values)
        assert ("Inputs:" in str(caught.value)) is lines


def test_unpickled_function_keeps_the_options_it_was_compiled_with() -> None:
    x, y = tt.dvector("x"), tt.fscalar("y")
    with config.change_flags(floatX="float32", exception_verbosity="medium", allow_gc=False, on_unused_input="ignore"):
        compiled = function([x, y], x + x[:2], mode="VM")
    copy = pickle.loads(pickle.dumps(compiled))
    options = copy.maker.options
    assert [options[n] for n in ("floatX", "exception_verbosity", "allow_gc")] == ["float32", "medium", False]
    with pytest.raises(NodeValueError, match=r"(?s)Inputs:.*Built by:"):
        copy(np.zeros(3), 0.1)


def test_pickle_does_not_carry_what_depends_on_the_machine(tmp_path: Path) -> None:
    x = tt.dvector("x")
    with config.change_flags(base_compiledir=tmp_path, cxx="gcc-of-elsewhere"):
        data = pickle.dumps(function([x], x * 2, mode="VM"))
    options = pickle.loads(data).maker.options
    assert options["cxx"] == config.cxx
    assert options["compiledir"] == config.compiledir


def test_functions_can_be_unpickled_as_none() -> None:
    x = tt.dvector("x")
    data = pickle.dumps(function([x], x * 2, mode="VM"))
    with config.change_flags(unpickle_function=False):
        assert pickle.loads(data) is None
    assert pickle.loads(data)([1.0]).tolist() == [2.0]


@pytest.mark.parametrize("name", ["vm", "VM", "fast_run", "Fast_Compile", "mode"])
def test_mode_is_named_in_upper_or_lower_case(name: str) -> None:
    with config.change_flags(mode=name):
        assert get_mode().name.upper() == name.upper()


def test_mode_may_be_a_mode_itself() -> None:
    mine = Mode("vm", None, name="mine")
    with config.change_flags(mode=mine):
        assert get_mode() is mine
        assert config.snapshot()["mode"] is mine
    with pytest.raises(OptionValueError, match=r"^option mode: cannot be 3\. Give one of 'Mode', 'FAST_RUN'"):
        config.mode = 3


def run(program: str, flags: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TREADLERC": "", "TREADLE_FLAGS": flags},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_default_linker_is_the_fastest_that_can_work() -> None:
    program = "from treadle.config import config; print(config.linker, config.source('linker'))"
    assert run(program, "") == "auto default"
    assert run(program, "linker=AUTO") == "auto TREADLE_FLAGS 'linker=AUTO'"
    program = (
        "import warnings; warnings.simplefilter('ignore')\nfrom treadle.compile import Mode; print(Mode().backend.name)"
    )
    assert run(program, "cxx=") == run(program, "cxx=no-such-compiler") == "numba"
    if shutil.which("cc") is not None:
        assert run(program, "") == "cvm"


def test_default_mode_runs_where_there_is_no_compiler() -> None:
    program = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from treadle.compile import get_default_mode; print(get_default_mode().backend.name)"
    )
    assert run(program, "cxx=") == "numba"
    if shutil.which("cc") is not None:
        assert run(program, "") in {"c", "c|py", "cvm"}


@pytest.mark.parametrize("name", ["DebugMode", "nanguardmode", "MonitorMode"])
@pytest.mark.documents("option:mode")
def test_mode_of_the_option_may_be_one_that_checks(name: str) -> None:
    with config.change_flags(mode=name):
        assert type(get_mode()).__name__.lower() == name.lower()


def test_command_lists_the_options_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with config.change_flags(optimizer="merge"):
        assert main(["config", "optimizer", "compile.wait"]) == 0
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith(" ")] == [
        "compile__wait",
        "optimizer",
    ]
    assert f"optimizer = 'merge'  (from change_flags at {__file__}:" in text
    assert "default 'fast_run')" in text
    assert main(["config"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 200


def test_command_names_the_nearest_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "flotX"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "treadle config: option 'flotX': does not exist. Did you mean floatX?\n")


def test_command_reports_bad_settings_without_a_traceback() -> None:
    program = "import sys; from treadle.compile.command_line import main; sys.exit(main(['config']))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TREADLERC": "", "TREADLE_FLAGS": "floatx=1,loud"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("treadle config: config: 2 settings from outside are wrong")
    assert "Traceback" not in done.stderr
