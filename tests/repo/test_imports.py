"""Importing a package loads nothing that it does not need at once."""

from __future__ import annotations

import json
import subprocess
import sys

PROBE = "import sys; before = set(sys.modules); {}; import json; print(json.dumps(sorted(set(sys.modules) - before)))"


def modules_of(statement: str) -> list[str]:
    """List the modules that a statement loads in a new process."""
    done = subprocess.run([sys.executable, "-c", PROBE.format(statement)], capture_output=True, text=True, check=True)
    names: list[str] = json.loads(done.stdout)
    return names


def loaded_by(statement: str) -> set[str]:
    """List the top-level modules, standard library and treadle left out, that a statement loads in a new process."""
    tops = {name.partition(".")[0] for name in modules_of(statement)}
    # The standard library's generated module of build settings is named after the platform, so it is on no list.
    listed = {name for name in tops if not name.startswith("_sysconfigdata")}
    return listed - set(sys.stdlib_module_names) - {"treadle"}


def test_the_probe_sees_third_party_modules() -> None:
    assert "numpy" in loaded_by("import numpy")


def test_graph_loads_no_third_party_module() -> None:
    assert loaded_by("import treadle.graph, treadle.link.vm") == set()


def test_config_loads_no_third_party_module() -> None:
    assert loaded_by("import treadle.config") == set()


def test_rewrite_loads_no_third_party_module() -> None:
    assert loaded_by("import treadle.rewrite") == set()


def test_compile_loads_no_array_library() -> None:
    assert loaded_by("import treadle.compile") & {"numpy", "scipy", "rich"} == set()


def test_tensor_and_compile_load_no_backend_library_and_no_scipy() -> None:
    loaded = loaded_by("import treadle.tensor, treadle.compile")
    assert loaded & {"scipy", "numba", "llvmlite", "jax", "jaxlib", "torch", "cffi", "rich"} == set()


def test_link_packages_load_no_backend_library() -> None:
    loaded = loaded_by("import treadle.link.c, treadle.link.numba, treadle.link.jax, treadle.link.torch")
    assert loaded & {"numba", "llvmlite", "jax", "jaxlib", "torch", "cffi"} == set()


def test_rules_of_sparse_and_named_tensors_load_no_ops_of_theirs() -> None:
    loaded = modules_of("from treadle.rewrite import optdb; rules = {e.name for _, e in optdb.walk()}")
    assert {"treadle.sparse.rules", "treadle.named.rules"} <= set(loaded)
    ops = ("treadle.sparse.dense", "treadle.sparse.parts", "treadle.named.op", "treadle.named.casts")
    assert not set(ops) & set(loaded)
