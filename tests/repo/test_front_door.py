"""`import treadle.tensor as tt` is all that a program starts with, and loads no more than tensors."""

from __future__ import annotations

import subprocess
import sys

from tests.repo.tree import ROOT
from treadle.config.owners import BROUGHT

PROGRAM = """
import sys
import treadle.tensor as tt
before = set(sys.modules)
assert not any(name.startswith("treadle.compile") for name in before), before
assert "treadle.graph.ir.trees" not in before and len(before) < 345, len(before)

names = ["Function", "In", "Mode", "Out", "compiled", "config", "debugprint", "function", "grad", "hessian", "jacobian",
         "pprint", "register_tree_node", "scan", "shared", "tree_map", "value_and_grad", "write_html"]
assert set(names) <= set(dir(tt))
assert tt.__version__ == "1.0.0"
x, w = tt.dvector("x"), tt.shared([1.0, 2.0], name="w")
loss = (x * w).sum()
step = tt.function([tt.In(x, value=[1.0, 1.0])], tt.Out(loss), updates={w: w - tt.grad(loss, w)}, mode=tt.Mode("VM"))
assert float(step()) == 3.0 and w.get_value().tolist() == [0.0, 1.0]
assert float(tt.compiled(lambda x: tt.linalg.norm(x), mode="VM")(w.get_value())) == 1.0
assert tt.function([], tt.random.normal(size=2), mode="VM")().shape == (2,)
assert all(hasattr(tt, name) for name in names)
"""
WITHOUT = """
from tests.repo.hiding import hide
hide("compile", "pytensor-surface", "as-pytensor")
import treadle.tensor as tt
from treadle.config.owners import BROUGHT
for name, owner in BROUGHT.items():
    try:
        getattr(tt, name)
    except AttributeError as error:
        assert f"the distribution that brings it is not installed, {owner!r}. Run pip install" in str(error), error
    else:
        raise AssertionError(name)
assert tt.shared(1.0).get_value() == 1.0
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_import_is_all_that_a_program_needs() -> None:
    run(PROGRAM)


def test_what_is_not_installed_is_told_with_what_to_install() -> None:
    assert "function" in BROUGHT
    run(WITHOUT)
