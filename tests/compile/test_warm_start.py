"""Functions whose program an earlier process made: nothing is rewritten, generated or compiled again."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Counts the work that a warm start skips, makes a function, and prints the counts. Lines of the graph are marked.
PROGRAM = """
import json, os, sys
counts = {"rewrites": 0, "generated": 0, "processes": 0}
def audit(event, args):
    if event in {"subprocess.Popen", "os.posix_spawn", "os.exec"}:
        counts["processes"] += 1
    # Stubs that name a function of Numba's, and those that call a function, hold no code of the graph.
    if event == "compile" and str(args[1]).startswith(("<treadle vm", "<treadle pytorch")):
        counts["generated"] += 1
sys.addaudithook(audit)
import numpy as np
import treadle.tensor as tt
from treadle.compile import In, Out, function, shared
from treadle.compile.stored.programs import FUNCTIONS, LOOKUPS
from treadle.config import config
from treadle.rewrite import GraphRewriter, Run
def counted(kind, name, what):
    plain = getattr(kind, name)
    def count(*args, **kwargs):
        counts[what] += 1
        return plain(*args, **kwargs)
    setattr(kind, name, count)
counted(Run, "apply", "rewrites")
mode = sys.argv[1]
if mode in {"C", "CVM"}:
    from treadle.link.c.assembly import Assembly
    counted(Assembly, "source", "generated")
if mode == "NUMBA":
    from treadle.link.numba.text import source
    counted(source, "write_program", "generated")
    from treadle.link.numba.compiler import COMPILER
if mode == "JAX":
    import jax
    from treadle.link.jax.programs.tracing import StagedGraph
    counted(StagedGraph, "traceable", "generated")
    counts["compiled"] = 0
    def heard(event, seconds, **_):
        counts["compiled"] += "backend_compile" in event
    jax.monitoring.register_event_duration_secs_listener(heard)
"""
MODEL = """
x = tt.dmatrix("x")
w = shared(np.arange(6.0).reshape(3, 2), name="w")
table = np.linspace(0, 1, 5000)
h = tt.tanh(tt.dot(x, w) + 0.5)
y = (h * table[:2]).sum(axis=1)  # marked
y = y - tt.exp(-y) * table.sum()
grad = tt.grad(y.sum(), w)
f = function([x], [y, grad], updates={w: w - 0.1 * grad}, mode=mode, name="model")
X = np.arange(12.0).reshape(4, 3) / 10
values = [np.asarray(v).tolist() for _ in range(2) for v in f(X)]
state = w.get_value().tolist()
"""
REPORT = """
import dataclasses
if mode == "NUMBA":
    counts["compiled"] = COMPILER.counts.compiled
counts_before_call = counts.copy()
loaded = not FUNCTIONS.counts.made
try:
    f(np.ones((2, 5)))
    error = "none"
except Exception as raised:
    error = f"{type(raised).__name__}: {raised}"
print(json.dumps({
    "values": values, "state": state, "counts": counts_before_call, "functions": dataclasses.asdict(FUNCTIONS.counts),
    "error": error, "nodes": len(f.maker.fgraph.apply_nodes), "fired": list(f.maker.report.fired()),
    "last": LOOKUPS.last()["outcome"], "why": LOOKUPS.last()["reason"],
    "names": [v.name for v in f.maker.fgraph.inputs],
}))
"""


def run(folder: Path, mode: str, model: str = MODEL, report: str = REPORT, **options: str) -> Any:
    """Run a program in a process of its own; return its report."""
    flags = {"base_compiledir": str(folder / "compiled"), **options}
    file = folder / "program.py"
    file.write_text(PROGRAM + model + report)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(file), mode],
        env={**os.environ, "TREADLE_FLAGS": ",".join(f"{k}={v}" for k, v in flags.items())},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


BACKENDS = ["VM", "C", "NUMBA", "JAX"]


@pytest.mark.parametrize("mode", BACKENDS)
def test_second_process_neither_rewrites_nor_generates_nor_compiles(tmp_path: Path, mode: str) -> None:
    cold, warm = run(tmp_path, mode), run(tmp_path, mode)
    assert (cold["functions"]["made"], warm["functions"]["made"]) == (1, 0), warm["why"]
    assert warm["functions"]["loaded"] == 1
    assert all(cold["counts"][phase] for phase in ("rewrites", "generated"))
    assert not any(warm["counts"].values())
    assert warm["values"] == cold["values"]
    assert warm["state"] == cold["state"]
    assert (warm["nodes"], warm["fired"], warm["names"]) == (cold["nodes"], cold["fired"], cold["names"])


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_second_process_finds_functions_of_scipy_where_they_are_there(tmp_path: Path, mode: str) -> None:
    model = "x = tt.dvector('x')\nf = function([x], tt.ndtri(x), mode=mode)\n"
    model += "values = f(np.array([0.5])).tolist()\nstate = 0\n"
    cold, warm = (run(tmp_path, mode, model) for _ in range(2))
    assert warm["functions"]["loaded"] == 1, warm["why"]
    assert not any(warm["counts"].values())
    assert warm["values"] == cold["values"] == [0.0]


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_second_process_finds_functions_with_generators(tmp_path: Path, mode: str) -> None:
    model = """
import treadle.tensor.random as tr
streams = tr.RandomStream(3), tr.RandomStream(4, generator="portable")
generator, fixed = tr.rng("given"), tr.random_generator_type.make_constant(np.random.default_rng(7))
x = sum(stream.uniform(size=2) for stream in streams) + tr.default_rng(8).uniform(size=2)[1]
x += generator.uniform(size=2)[1] + fixed.uniform(size=2)[1]
f = function([In(generator, value=np.random.default_rng(1))], x, mode=mode)
values = [f().tolist() for _ in range(2)]
state = 0
"""
    cold, warm = (run(tmp_path, mode, model) for _ in range(2))
    assert warm["functions"]["loaded"] == 1, warm["why"]
    assert not any(warm["counts"].values())
    assert warm["values"] == cold["values"]


@pytest.mark.slow
def test_second_process_finds_what_pytorch_compiled(tmp_path: Path) -> None:
    # Not even the import of the compiler, which takes longer than all else.
    imported = "counts['inductor'] = int('torch._inductor' in sys.modules)\n"
    cold, warm = (run(tmp_path, "PYTORCH", report=imported + REPORT, torch__compile="True") for _ in range(2))
    assert warm["functions"]["loaded"] == 1
    assert (cold["counts"]["inductor"], warm["counts"]["inductor"], warm["counts"]["rewrites"]) == (1, 0, 0)
    assert warm["values"] == cold["values"]


def test_second_process_finds_the_loops_that_c_compiled_for_pytorch(tmp_path: Path) -> None:
    model = (
        "x = tt.dvector('x')\ny = tt.scan_with_carry(lambda c, r: (tt.tanh(c) * r + 0.5, c), tt.constant(0.0), x)[0]\n"
    )
    model += (
        "f = function([x], [y, tt.grad(y, x)], mode=mode)\nvalues = [v.tolist() for v in f(np.ones(5))]\nstate = 0\n"
    )
    counters = "from treadle.link.c.assembly import Assembly\ncounted(Assembly, 'source', 'c')\n"
    cold, warm = (run(tmp_path, "PYTORCH", "counts['c'] = 0\n" + counters + model) for _ in range(2))
    assert warm["functions"]["loaded"] == 1, warm["why"]
    assert cold["counts"]["c"] > 0
    assert (warm["counts"]["c"], warm["counts"]["rewrites"]) == (0, 0)
    assert warm["values"] == cold["values"]


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_errors_of_a_loaded_program_name_the_lines_of_the_graph_at_hand(tmp_path: Path, mode: str) -> None:
    model = "x, z = tt.dvector('x'), tt.dvector('z')\ny = tt.exp(x) * z + 1\nf = function([x, z], y, mode=mode)\n"
    model += "values = state = 0\n"
    report = REPORT.replace("f(np.ones((2, 5)))", "f(np.ones(2), np.ones(3))")
    cold = run(tmp_path, mode, model, report)
    moved = "\n\n" + model.replace("+ 1\n", "+ 1  # moved\n")
    warm = run(tmp_path, mode, moved, report)
    assert warm["functions"]["loaded"] == 1, warm["why"]
    line = len(PROGRAM.splitlines()) + 2
    assert f'program.py:{line} "y = tt.exp(x) * z + 1"' in cold["error"]
    assert f'program.py:{line + 2} "y = tt.exp(x) * z + 1  # moved"' in warm["error"]


def test_loaded_program_takes_constants_of_the_graph_at_hand(tmp_path: Path) -> None:
    """Large constants are not stored: entries are small, and another constant is another key."""
    model = MODEL.replace("5000", "500000")
    cold = run(tmp_path, "C", model)
    size = sum(path.stat().st_size for path in (tmp_path / "compiled").rglob("*.entry"))
    assert cold["functions"]["made"] == 1
    assert size < 1_000_000
    other = run(tmp_path, "C", model.replace("linspace(0, 1", "linspace(0, 2"))
    assert other["functions"]["made"] == 1
    assert other["values"] != cold["values"]


CHANGES = {
    "mode": ("mode=mode", "mode='VM'"),
    "an op": ("tt.tanh", "tt.sinh"),
    "a constant": ("+ 0.5", "+ 0.25"),
    "a constant's dtype": ("+ 0.5", "+ np.float32(0.5)"),
    "the order of outputs": ("[y, grad]", "[grad, y]"),
    "borrowing": ("[y, grad]", "[Out(y, borrow=True), grad]"),
    "an update": ("updates={w: w - 0.1 * grad}", "updates={w: w - 0.2 * grad}"),
    "the type of an input": ('tt.dmatrix("x")', 'tt.tensor("x", dtype="float64", shape=(None, 3))'),
    "an option": ("f = function", "config.floatX = 'float32'\nf = function"),
    "the rewrites": ("mode=mode", "mode=get_mode(mode).excluding('inplace')"),
}
SAME = {
    "names": ('tt.dmatrix("x")', 'tt.dmatrix("input")'),
    "an option that does not affect code": ("f = function", "config.exception_verbosity = 'high'\nf = function"),
    "the function's name": ('name="model"', 'name="other"'),
    "the value of state": ("np.arange(6.0)", "np.ones(6)"),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compile directory that holds the model for C."""
    folder = tmp_path_factory.mktemp("filled")
    assert run(folder, "C")["functions"]["made"] == 1
    return folder


MANY = """
from treadle.compile import get_mode
from treadle.compile.stored.key import key_of
from treadle.compile import FunctionMaker
import treadle.compile.functions.maker as maker_module
keys = {}
def kept(self):
    with config.using(self.options):
        keys[current] = key_of(self).text
    raise KeyError("kept")
FunctionMaker.create = kept
for current, text in json.loads(sys.argv[2]).items():
    before = config.floatX
    try:
        exec(text)
    except KeyError:
        pass
    config.floatX = before
print(json.dumps(keys))
"""


def keys_of(folder: Path, models: dict[str, str]) -> dict[str, str]:
    file = folder / "keys.py"
    file.write_text(PROGRAM + MANY)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(file), "C", json.dumps(models)],
        env={**os.environ, "TREADLE_FLAGS": f"base_compiledir={folder}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    keys: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return keys


def test_key_changes_with_what_code_depends_on_and_with_nothing_else(tmp_path: Path) -> None:
    models = {"": MODEL}
    for name, (old, new) in (CHANGES | SAME).items():
        assert old in MODEL, name
        models[name] = MODEL.replace(old, new)
    keys = keys_of(tmp_path, models)
    assert {name for name in SAME if keys[name] != keys[""]} == set()
    assert {name for name in CHANGES if keys[name] == keys[""]} == set()
    assert len({keys[name] for name in ("", *CHANGES)}) == len(CHANGES) + 1
    assert keys_of(tmp_path, {"": MODEL})[""] == keys[""]


OP = """
from treadle.graph import Op, static_op
import mine
@static_op
class Twice(Op):
    def infer(self, x):
        return (x,)
    def perform(self, node, inputs, outputs):
        outputs[0][0] = mine.twice(inputs[0])
x = tt.dvector("x")
f = function([x], Twice()(x) + 1, mode=mode)
values = f(np.arange(3.0)).tolist()
state = 0
"""


def test_program_of_an_op_is_made_again_where_code_that_the_op_uses_was_changed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def twice(x):\n    return 2 * x\n")
    assert run(tmp_path, "CVM", OP)["functions"]["made"] == 1
    assert run(tmp_path, "CVM", OP)["functions"]["loaded"] == 1
    (tmp_path / "mine.py").write_text("def twice(x):\n    return x + x + 1 - 1\n")
    again = run(tmp_path, "CVM", OP)
    assert (again["functions"]["made"], again["values"]) == (1, [1.0, 3.0, 5.0])


UNKNOWN = {
    "an op without parameters": (
        "class Plain(Twice):\n    __props__ = None\n    _parameter_names = lambda self: None\nplain = Plain()",
        "declares no parameters",
    ),
    "a rewrite made inside a function": (
        """
from treadle.rewrite import node_rewriter, optdb
def make(k):
    @node_rewriter(None)
    def local_nothing(fgraph, node):
        return k and None
    return local_nothing
optdb['specialize'].register('local_nothing', make(0), 'fast_run')
plain = Twice()""",
        "made inside another function",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_other_processes_cannot_know_is_not_kept(tmp_path: Path, case: str) -> None:
    text, reason = UNKNOWN[case]
    (tmp_path / "mine.py").write_text("def twice(x):\n    return 2 * x\n")
    model = OP.replace('x = tt.dvector("x")', f'{text}\nx = tt.dvector("x")').replace("Twice()(x)", "plain(x)")
    reports = [run(tmp_path, "CVM", model) for _ in range(2)]
    assert [t["functions"]["unkept"] for t in reports] == [1, 1]
    assert reason in reports[0]["why"]
    assert reports[0]["values"] == [1.0, 3.0, 5.0]


@pytest.mark.documents("option:cache__functions")
def test_option_keeps_functions_out_of_the_cache(tmp_path: Path) -> None:
    for _ in range(2):
        report = run(
            tmp_path,
            "VM",
            report=REPORT.replace('LOOKUPS.last()["outcome"]', "0").replace('LOOKUPS.last()["reason"]', "0"),
            cache__functions="False",
        )
        assert set(report["functions"].values()) == {0}


def test_workers_read_a_folder_that_is_only_read(filled: Path, tmp_path: Path) -> None:
    shared = next((filled / "compiled").iterdir())
    before = sorted((str(p), p.stat().st_mtime_ns) for p in shared.rglob("*"))
    report = run(tmp_path, "C", cache__shared=str(shared))
    assert report["functions"]["loaded"] == 1, report["why"]
    assert not any(report["counts"].values())
    assert sorted((str(p), p.stat().st_mtime_ns) for p in shared.rglob("*")) == before


def test_program_is_made_again_where_its_library_is_gone(filled: Path, tmp_path: Path) -> None:
    shutil.copytree(filled, tmp_path / "copy")
    for library in (tmp_path / "copy").rglob("*.so"):
        library.unlink()
    report = run(tmp_path / "copy", "C")
    assert report["functions"]["made"] == 1
    assert run(tmp_path / "copy", "C")["functions"]["loaded"] == 1
