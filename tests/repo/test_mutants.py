"""Planted faults: what `./dev mutants` does."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants import AREAS, sample
from tools.mutation import VARIABLE, mutant, mutations

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = '''"""A module."""
__all__ = ["f"]

def f(x: int = 1) -> int | None:
    """Return a number, -1 for instance."""
    if x is None:
        msg = f"{x - 1}"
        raise ValueError(msg)
    return x + 2 if not x < 3 and x else x
'''


def test_places_are_those_that_decide_what_a_module_does() -> None:
    assert [change for _, change in mutations(SOURCE)] == [
        "if x is None -> if True",
        "if x is None -> if False",
        "x is None: Is -> IsNot",
        "return x + 2 if not x < 3 and x else x -> return None",
        "not x < 3 and x: and <-> or",
        "not x < 3 and x: without not x < 3",
        "not x < 3 and x: without x",
        "not x < 3 -> operand",
        "x < 3: Lt -> LtE",
        "3 -> 4",
        "x + 2: -> Sub",
        "2 -> 3",
    ]


@pytest.mark.parametrize("number", range(12))
def test_mutant_differs_in_one_place(number: int) -> None:
    original = ast.unparse(ast.parse(SOURCE)).splitlines()
    changed = ast.unparse(mutant(SOURCE, number)).splitlines()
    assert sum(a != b for a, b in zip(original, changed, strict=True)) == 1


def test_number_must_be_one_of_the_places() -> None:
    with pytest.raises(ValueError, match="has 12 places that can be changed, got number 12"):
        mutant(SOURCE, 12)


DERIVATIVES = """
g = Op(pullback=lambda x: x + 1, other=2)
def f(x):
    return x
def pullback(x):
    return -x
"""


def test_derivatives_alone_can_be_changed() -> None:
    places = [change for _, change in mutations(DERIVATIVES, "derivatives")]
    assert places == ["x + 1: -> Sub", "1 -> 2", "return -x -> return None", "-x -> operand"]


@pytest.mark.parametrize("name", AREAS)
def test_sample_is_the_same_each_time(name: str) -> None:
    drawn = sample(name, 5, seed=3)
    assert len(drawn) == 5
    assert drawn == sample(name, 5, seed=3)


@pytest.mark.parametrize(
    ("folder", "backend"),
    [("packages/tensor/src/treadle/tensor/lower_vm", "vm"), ("packages/link-c/src/treadle/link/c/lower", "c")],
)
def test_lowering_is_tried_on_its_own_backend(folder: str, backend: str) -> None:
    selection = AREAS["lowerings"].tests(ROOT / folder / "dimshuffle.py")[-1]
    assert selection == f"({backend} and (dimshuffle)) or not contract"


NOTICING = """
import treadle.tensor.reductions.accumulation as module

def test_module_is_as_written():
    assert module.__loader__.__class__.__name__ == "SourceFileLoader"
"""


@pytest.mark.parametrize("planted", [False, True])
def test_fault_is_planted_in_memory(tmp_path: Path, planted: bool) -> None:
    source = ROOT / "packages" / "tensor" / "src" / "treadle" / "tensor" / "reductions" / "accumulation.py"
    before = source.read_bytes()
    test = tmp_path / "test_noticing.py"
    test.write_text(NOTICING)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.mutation", str(test)],
        cwd=ROOT,
        env={**os.environ, VARIABLE: "treadle.tensor.reductions.accumulation:0" if planted else ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == int(planted), done.stdout.decode()
    assert source.read_bytes() == before


@pytest.mark.parametrize("name", AREAS)
def test_areas_reach_into_all_rooms(name: str) -> None:
    folders = {part for path, *_ in sample(name, 100_000, 0) for part in path.parent.parts[-3:]}
    expected = {
        "rules": {"general", "loops", "elementwise", "linalg"},
        "derivatives": {"elementwise", "indexing", "reductions", "ops", "loops", "special_functions"},
        "lowerings": {"linalg", "c", "indexing", "reductions", "lower_vm"},
    }
    assert expected[name] <= folders
    assert (name == "derivatives") == (not {"rewrites", "rules", "lower", "lower_vm"} & folders)
