"""Packages whose ops bring C: found by entry points, and part of the key of what is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "mine-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n",
    "mine-1.0.dist-info/entry_points.txt": "[treadle.lowerings.c]\nmine = mine.lowerings:register\n",
    "mine/__init__.py": """\
from treadle.graph import Apply, Op


class Twice(Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        raise RuntimeError("Python was asked")
""",
    "mine/lowerings.py": """\
from mine import Twice
from mine.texts import TWICE
from treadle.link.c import CFunction, c_function


def register(table):
    c_function(Twice)(lambda op, node: CFunction(name="twice", text=TWICE))
""",
    "mine/texts.py": '''\
TWICE = """
static int twice(const treadle_array *x, treadle_array *y) {
  for (int64_t i = 0; i < x->shape[0]; i++) ((double *)y->data)[i] = 2 * ((const double *)x->data)[i];
  return 0;
}
"""
''',
    "program.py": """\
import sys

import numpy as np

import treadle.tensor as tt
from mine import Twice
from treadle.compile import function

x = tt.dvector("x")
before = "mine.lowerings" in sys.modules
print(before, [function([x], Twice()(x) + 1, mode=mode)(np.ones(1)).tolist() for mode in ("C", "CVM")])
""",
}


def test_rules_are_found_by_their_entry_point_and_a_changed_text_is_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "ein Paket ü"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    def output() -> str:
        flags = f"base_compiledir={tmp_path / 'kept'}"
        done = subprocess.run(
            [sys.executable, "program.py"],
            env={**os.environ, "TREADLE_FLAGS": flags, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert [output() for _ in range(2)] == ["False [[3.0], [3.0]]"] * 2
    texts = folder / "mine" / "texts.py"
    texts.write_text(texts.read_text(encoding="utf-8").replace("= 2 *", "= 20 *"), encoding="utf-8")
    assert output() == "False [[21.0], [21.0]]"
