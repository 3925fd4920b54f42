"""Linking: refusals, generated text, the cache."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_numba.conftest import Link
from treadle.cache import default_cache
from treadle.config import config
from treadle.graph import Apply, DuplicateRegistrationError, LoweringError, Op, Variable
from treadle.link.numba import BACKEND, SCALARS, TABLE, GraphWriter
from treadle.link.numba.compiler import COMPILER
from treadle.tensor import ScalarOp

CHILD = """
import json, sys
import treadle.link.numba
heavy = [m for m in ("numba", "llvmlite", "numpy") if m in sys.modules]
import numpy as np
import treadle.tensor as tt
from treadle.graph import FunctionGraph
x, w = tt.dmatrix("x"), tt.dvector("w")
loss = tt.softplus(tt.dot(x, w)).mean()
program = treadle.link.numba.NumbaLinker().link(FunctionGraph([x, w], [loss, tt.grad(loss, w)]))
value = [float(v.sum()) for v in program(np.ones((4, 3)), np.full(3, 0.5))]
from treadle.link.numba.compiler import COMPILER
counts = COMPILER.counts
print(json.dumps([heavy, value, counts.compiled, counts.loaded]))
"""


def run_child(folder: Path) -> list[object]:
    import json

    environment = {**os.environ, "TREADLE_FLAGS": f"compiledir={folder}"}
    done = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: list[object] = json.loads(done.stdout)
    return answer


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    cold = run_child(tmp_path / "cache")
    warm = run_child(tmp_path / "cache")
    assert cold[0] == []
    assert isinstance(cold[2], int)
    assert cold[2] > 0
    assert warm == [[], cold[1], 0, 1]


def test_damaged_entry_is_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cold = run_child(folder)
    for file in folder.rglob("*.entry"):
        file.write_bytes(file.read_bytes()[:-10])
    assert run_child(folder) == cold


def test_folder_that_cannot_be_used_costs_a_warning_only(tmp_path: Path, link: Link) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    x = tt.dvector("x")
    with config.change_flags(compiledir=blocked / "cache"), pytest.warns(UserWarning, match="compile cache"):
        program = link([x], [x * 3.0 - 11.0])
    assert program.source


def test_without_cache_option_nothing_is_kept(link: Link, tmp_path: Path) -> None:
    x = tt.dvector("x")
    with config.change_flags(compiledir=tmp_path, numba__cache=False):
        link([x], [x * 5.0 - 13.0])
        assert default_cache().list() == ()


def test_same_graph_is_compiled_once_in_a_process(link: Link) -> None:
    link([x := tt.dvector("x")], [tt.cos(x) + 7.0])
    before = COMPILER.counts
    link([y := tt.dvector("other name")], [tt.cos(y) + 8.0])
    after = COMPILER.counts
    assert after.compiled == before.compiled
    assert after.shared == before.shared + 1


def test_every_node_that_cannot_be_lowered_is_listed(link: Link) -> None:
    y = tt.dvector("y")
    turned: Any = tt.as_op([tt.dvector], [tt.dvector])(np.flip)
    with config.change_flags(on_python_step="raise"), pytest.raises(LoweringError) as caught:
        link([y], [turned(y), turned(y * 2), tt.exp(y)])
    text = str(caught.value)
    assert text.count("flip") >= 2
    assert "test_link.py" in text
    assert text.startswith("numba: no lowering for")


def test_generated_text_of_a_small_graph(link: Link) -> None:
    x = tt.dvector("x")
    source = link([x], [tt.sqrt(x)]).source
    kernel = next(part for part in source.split("\n\n") if part.startswith("def sqrt_"))
    assert kernel.splitlines()[1:] == [
        "    x0_q = 0",
        "    o0_q = 0",
        "    for d0 in range(n0):",
        "        x0_x = x0[x0_q + d0 * x0_s0]",
        "        t0 = sqrt(x0_x)",
        "        o0_x = t0",
        "        o0[o0_q + d0 * o0_s0] = o0_x",
        "    return 0",
    ]


def test_backend_is_declared() -> None:
    assert BACKEND.name == "numba"
    assert BACKEND.unavailable() is None
    assert set(BACKEND.exclude) == {"cxx_only", "BlasOpt"}
    assert "fusion" in BACKEND.capabilities


class Cube(Op):
    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        output_storage[0][0] = inputs[0] ** 3


def _lower_cube(op: Cube, node: Apply, writer: GraphWriter) -> None:
    del op
    x = writer.array(node.inputs[0])
    output = writer.new_output(node.outputs[0], x.dims)
    writer.run_elementwise("cube", [("x", x)], [("o", output)], ["o_x = x_x * x_x * x_x"])


def test_a_rule_of_another_writes_its_text(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    TABLE.load()
    monkeypatch.setitem(TABLE._rules, Cube, _lower_cube)
    x = tt.dvector("x")
    np.testing.assert_array_equal(link([x], [Cube()(x * 2) + 1])(np.array([1.0, 2.0]))[0], [9.0, 65.0])


@pytest.mark.parametrize(("returned", "message"), [(np.cbrt, "returned <ufunc 'cbrt'>"), (None, "bound no value")])
def test_a_rule_that_writes_nothing_gets_an_error_that_says_what_rules_do(
    link: Link, monkeypatch: pytest.MonkeyPatch, returned: Any, message: str
) -> None:
    TABLE.load()
    monkeypatch.setitem(TABLE._rules, Cube, lambda op, node, writer: returned)  # noqa: ARG005
    x = tt.dvector("x")
    with pytest.raises(LoweringError, match=rf"(?s){message}.*test_link\.py.*Add a lowering"):
        link([x], [Cube()(x)])


def test_a_scalar_op_of_another_gets_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    cube = cast("ScalarOp", SimpleNamespace(name="cube"))
    assert SCALARS.find(cube, "f") is None
    monkeypatch.setattr(SCALARS, "_entries", dict(SCALARS._entries))
    SCALARS.register("cube", {"f": "{0} * {0} * {0}"})
    with pytest.raises(DuplicateRegistrationError, match=r"numba: the scalar op 'cube' is registered .* 'f' already"):
        SCALARS.register("cube", {"f": "{0}"})
    with pytest.raises(DuplicateRegistrationError, match="'exp' is registered"):
        SCALARS.register("exp", {"f": "{0}"})
    assert SCALARS.find(cube, "f") == "{0} * {0} * {0}"
    assert SCALARS.find(cube, "i") is None
