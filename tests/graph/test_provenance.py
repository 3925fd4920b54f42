"""Which of the user's lines made a node."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import inverse, number
from treadle.compile import function
from treadle.graph import NodeValueError, UserLine, user_line


def test_line_is_the_users_even_through_layers_of_treadle() -> None:
    x = tt.dvector("x")
    y = tt.softmax(x + 1.0)
    assert y.user_line is not None
    assert y.user_line.file == __file__
    assert y.user_line.text == "y = tt.softmax(x + 1.0)"
    assert str(y.user_line) == f'{Path(__file__).name}:{y.user_line.line} "y = tt.softmax(x + 1.0)"'


def test_input_has_no_line() -> None:
    assert number("x").user_line is None


def test_helper_function_of_the_user_counts_not_its_caller() -> None:
    def helper() -> UserLine | None:
        return user_line()

    line = helper()
    assert line is not None
    assert line.text == "return user_line()"


def test_nodes_made_by_one_line_share_one_object() -> None:
    x = number("x")
    nodes = [inverse(x) for _ in range(2)]
    assert nodes[0].user_line is nodes[1].user_line


def test_installed_packages_do_not_count(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "acme.py"
    package.parent.mkdir()
    package.write_text("from treadle.graph import user_line\n\ndef where():\n    return user_line()\n")
    script = tmp_path / "model.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(package.parent)!r})\nimport acme\nline = acme.where()\nprint(line)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == 'model.py:4 "line = acme.where()"\n'


def test_line_without_source_shows_the_place_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-"],
        input="from treadle.graph import user_line\nprint(user_line())",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "<stdin>:2\n"


def test_lines_compare_and_pickle_by_file_and_line() -> None:
    line = UserLine("model.py", 3)
    assert pickle.loads(pickle.dumps(line)) == line
    assert hash(line) == hash(UserLine("model.py", 3))
    assert line != UserLine("model.py", 4)
    assert repr(line) == "UserLine('model.py', 3)"


def test_error_when_the_program_runs_names_op_line_and_shapes() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    total = x + y
    compiled = function([x, y], tt.exp(total), mode="VM")
    with pytest.raises(NodeValueError) as caught:
        compiled(np.ones(2), np.ones(3))
    message = str(caught.value)
    assert message.startswith("Add: ")
    assert f"{Path(__file__).name}:" in message
    assert '"total = x + y"' in message
    assert "float64 of shape (2,), float64 of shape (3,)" in message
