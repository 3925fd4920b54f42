"""Which tests are each package's own, and how they run against what is installed, away from the checkout."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.release.environments import ROOT, CommandError, run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tools.release.environments import Environment

_LINES = 60  # of pytest's output that a report shows
_SOURCES = "reads the sources in the checkout"


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of one package: all of `paths`, and `quick` of them where time is short."""

    paths: tuple[str, ...]
    quick: tuple[str, ...]
    others: tuple[str, ...] = ()  # below `paths`, but another package's
    keyword: str = ""  # what pytest's -k takes of the quick ones
    needs_torch: bool = False
    without: Mapping[str, str] = field(default_factory=dict)  # tests that need the checkout, each with its reason


_OF_TENSOR = "tests/tensor/"
_RULES = "tests/tensor_rewrites/"
_LINALG = ("tests/tensor/linalg", f"{_RULES}test_linear_algebra.py", f"{_RULES}test_matrix_facts.py")
_RANDOM = ("tests/tensor/random", f"{_RULES}test_random.py")
_SIGNAL = tuple(f"{_OF_TENSOR}test_{name}.py" for name in ("convolution", "fft", "polynomials", "signal"))
_SURFACE = tuple(f"{_OF_TENSOR}test_{name}.py" for name in ("type_other", "typed_list"))
_OPTIMIZE = (f"{_OF_TENSOR}test_optimize.py",)
_NEURAL = (f"{_OF_TENSOR}test_nn.py",)

# By the name of the distribution. tests/repo/test_release.py sees that every folder of tests is here or in APART.
SUITES = {
    "config": Suite(
        ("tests/config",),
        ("tests/config",),
        without={
            "tests/config/test_documented.py": _SOURCES,
            "tests/config/test_places.py::test_modules_that_other_distributions_bring_into_a_package_are_its_own": (
                "says of a checkout that its distributions lie apart"
            ),
        },
    ),
    "compile-cache": Suite(("tests/cache",), ("tests/cache/test_entries.py", "tests/cache/test_claims.py")),
    "graph-core": Suite(
        ("tests/graph", "tests/link_vm"),
        ("tests/graph/test_function_graph.py", "tests/graph/test_encoding.py", "tests/link_vm/test_generation.py"),
    ),
    "kernel-language": Suite(("tests/kernels",), ("tests/kernels/test_language.py",)),
    "rewrite": Suite(("tests/rewrite",), ("tests/rewrite/test_engine.py", "tests/rewrite/test_patterns.py")),
    "tensor": Suite(
        ("tests/tensor", "tests/tensor_rewrites"),
        (f"{_OF_TENSOR}test_index.py", f"{_OF_TENSOR}test_gradient.py", f"{_RULES}test_algebra.py"),
        others=(*_LINALG, *_RANDOM, *_SIGNAL, *_SURFACE, *_OPTIMIZE, *_NEURAL),
        without={f"{_OF_TENSOR}test_lazy.py": _SOURCES, f"{_RULES}test_coverage.py": _SOURCES},
    ),
    "linalg": Suite(_LINALG, ("tests/tensor/linalg/test_solve.py", f"{_RULES}test_matrix_facts.py")),
    "random": Suite(_RANDOM, ("tests/tensor/random/test_streams.py", "tests/tensor/random/test_state.py")),
    "signal": Suite(_SIGNAL, (f"{_OF_TENSOR}test_signal.py", f"{_OF_TENSOR}test_polynomials.py")),
    "optimize": Suite(_OPTIMIZE, _OPTIMIZE, keyword="not jax"),
    "neural": Suite(_NEURAL, _NEURAL, needs_torch=True),
    "sparse-tensors": Suite(("tests/sparse",), ("tests/sparse/test_variables.py", "tests/sparse/test_names.py")),
    "named-tensors": Suite(("tests/named",), ("tests/named/test_types.py",)),
    "link-c": Suite(("tests/link_c",), ("tests/link_c/test_program.py", "tests/link_c/test_elemwise.py")),
    "link-c-support": Suite(
        ("tests/c_support",),
        ("tests/c_support/test_levels.py",),
        without={"tests/c_support/test_wheel.py": "builds a wheel of the checkout"},
    ),
    "link-numba": Suite(("tests/link_numba",), ("tests/link_numba/test_program.py",)),
    "link-jax": Suite(("tests/link_jax",), ("tests/link_jax/test_lowering.py", "tests/link_jax/test_dispatch.py")),
    "link-torch": Suite(
        ("tests/link_torch",), ("tests/link_torch/test_table.py", "tests/link_torch/test_program.py"), needs_torch=True
    ),
    "link-array-api": Suite(("tests/link_array_api",), ("tests/link_array_api/test_program.py",)),
    "compile": Suite(
        ("tests/compile", "tests/concurrency", "tests/scale_out"),
        ("tests/compile/test_function.py", "tests/compile/test_options.py", "tests/compile/test_evaluation.py"),
    ),
    "pytensor-surface": Suite(("tests/from_pytensor", *_SURFACE), _SURFACE),
    "as-pytensor": Suite(
        ("tests/as_pytensor",), ("tests/as_pytensor/test_names.py", "tests/as_pytensor/test_installing.py")
    ),
    "link-testing": Suite(
        ("tests/contract", "tests/plugins"),
        ("tests/contract/test_contract.py",),
        keyword="test_backend_keeps_the_contract and [vm- and float64-values",
        without={"tests/plugins/test_third_party_backend.py": _SOURCES},
    ),
}

# Folders of tests that a dry run leaves out, with the reason.
APART = {
    "array_api": "needs the standard's suite: ./dev array-api",
    "browser": "needs a browser",
    "gpu": "needs a GPU",
    "notebooks": "needs JupyterLab: ./dev notebooks",
    "packaging": "builds and installs wheels itself",
    "pymc": "needs PyMC: ./dev pymc",
    "repo": "is about the checkout",
}

# What runs in the empty folder, beside the tests: it looks where each module of ours came from.
PLUGIN = '''\
"""Refuses modules of treadle that do not come from the environment's own folder."""

import sys
import sysconfig
from pathlib import Path

import pytest

CHECKOUT = Path({checkout!r})


def modules_from_elsewhere():
    site = Path(sysconfig.get_path("purelib")).resolve()
    files = {{
        name: Path(module.__file__).resolve()
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "treadle" and getattr(module, "__file__", None)
    }}
    return [f"{{name}} ({{file}})" for name, file in files.items() if not file.is_relative_to(site)]


def pytest_sessionstart(session):
    import treadle.config

    refuse(modules_from_elsewhere())


def pytest_sessionfinish(session):
    refuse([text for text in modules_from_elsewhere() if str(CHECKOUT / "packages") in text])


def refuse(modules):
    if modules:
        pytest.exit(f"not from the installed wheels: {{', '.join(sorted(modules))}}", returncode=1)
'''


def prepare(folder: Path) -> None:
    """Make a folder with the tests, what they read beside our packages, and pytest's settings; no sources of ours."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    leave = shutil.ignore_patterns("__pycache__")
    for name in ("tests", "tools", "docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    (folder / "pyproject.toml").write_text(pytest_settings(), encoding="utf-8")
    plugin = PLUGIN.format(checkout=str(ROOT))
    (folder / "installed_only.py").write_text(plugin, encoding="utf-8")


def pytest_settings() -> str:
    """Return the part of pyproject.toml that is pytest's."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    start = text.index("[tool.pytest.ini_options]")
    end = text.find("\n# ------", start)
    return text[start : end + 1 or None]


def arguments(suite: Suite, *, quick: bool, torch: bool) -> list[str]:
    """Return what pytest is called with for a suite; without PyTorch, cases of its backend are left out."""
    chosen = [*(suite.quick if quick else suite.paths)]
    if not quick:
        chosen += [f"--ignore={path}" for path in suite.others]
    keywords = [f"({suite.keyword})"] if quick and suite.keyword else []
    keywords += [] if torch else ["not torch"]
    if keywords:
        chosen += ["-k", " and ".join(keywords)]
    return [*chosen, *(f"--{'deselect' if '::' in test else 'ignore'}={test}" for test in suite.without)]


def run_suite(
    environment: Environment, folder: Path, suite: Suite, *, quick: bool, torch: bool, jobs: int
) -> str | None:
    """Run a suite in a folder made by `prepare`; return what failed, or None."""
    workers = ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
    pytest = ("-m", "pytest", "-q", "-p", "installed_only", "--no-header", "--tb=short")
    variables = environment.variables() | {"TREADLE_FLAGS": ""}
    try:
        run([environment.python, *pytest, *workers, *arguments(suite, quick=quick, torch=torch)], folder, **variables)
    except CommandError as error:
        lines = str(error).splitlines()
        return "\n".join(lines if len(lines) <= _LINES else [*lines[:1], "...", *lines[-_LINES:]])
    return None
