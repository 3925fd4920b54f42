"""Rules about ops that nobody has imported: left out of queries, without any difference to the others."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from treadle.config import discover, modules_awaited
from treadle.graph import LoweringTable, Op
from treadle.rewrite import DefaultDatabase, RewriteDatabaseQuery, default_database
from treadle.rewrite.engine.tracked import class_tracked

FAST_RUN = RewriteDatabaseQuery(include=["fast_run"])


def smaller_database() -> DefaultDatabase:
    return DefaultDatabase(name for name, entry in discover("treadle.rules").items() if not modules_awaited(entry))


def test_rules_that_are_left_out_do_not_change_the_order_of_the_others() -> None:
    here = [rule.name for rule in smaller_database().select(FAST_RUN)]
    everywhere = [rule.name for rule in default_database().select(FAST_RUN)]
    assert len(here) < len(everywhere)
    kept = set(here)
    assert here == [name for name in everywhere if name in kept]


@pytest.mark.parametrize("phase", ["canonicalize", "stabilize", "specialize"])
def test_rules_that_are_left_out_do_not_change_the_order_in_a_phase(phase: str) -> None:
    here = [str(rule) for rule in smaller_database()[phase].query(FAST_RUN).rules]
    everywhere = [str(rule) for rule in default_database()[phase].query(FAST_RUN).rules]
    kept = set(here)
    assert here == [name for name in everywhere if name in kept]


def test_query_that_names_a_rule_which_was_left_out_is_answered_by_all() -> None:
    program = """
from treadle.rewrite import RewriteDatabaseQuery, optdb
assert optdb.query(RewriteDatabaseQuery(["fast_run"], exclude=["fusion"])) is not None
assert not optdb._filled
optdb.query(RewriteDatabaseQuery(["fast_run"], exclude=["solution_with_blocks"]))
assert optdb._filled
"""
    run(program)


def test_what_users_register_counts_before_and_after() -> None:
    program = """
from treadle.rewrite import RewriteDatabaseQuery, node_rewriter, optdb
first = optdb.query(RewriteDatabaseQuery(["fast_run"]))
@node_rewriter(None)
def of_mine(fgraph, node):
    return None
optdb["canonicalize"].register("of_mine", of_mine, "fast_run")
names = [str(rule.registered_as) for rule in optdb.select("fast_run") if hasattr(rule, "registered_as")]
assert "of_mine" in names
assert optdb.query(RewriteDatabaseQuery(["fast_run"])) is not first
"""
    run(program)


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def imports_of(module: str) -> set[str]:
    """Return the modules of ours that a module imports when it is imported."""
    spec = find_spec(module)
    assert spec is not None
    if spec.origin is None:
        return set()
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    imported = {node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module is not None}
    return {name for name in imported if name.startswith("treadle.")}


def reaches(module: str, awaited: tuple[str, ...]) -> bool:
    """Whether a module is one of some, is in such a package, or imports one, itself or by what it imports."""
    pending, seen = [module], set[str]()
    while pending:
        name = pending.pop()
        if name.startswith(awaited):
            return True
        if name not in seen:
            seen.add(name)
            pending += imports_of(name)
    return False


def test_ops_that_rules_which_are_left_out_are_about_import_what_these_await() -> None:
    for name, entry in discover("treadle.rules").items():
        awaited = modules_awaited(entry)
        for rules in entry.load() if awaited else ():
            for rule in rules:
                kinds = [type(item) if isinstance(item, Op) else class_tracked(item) for item in rule.tracks() or ()]
                # A rule about an op of tensor's that has to stand beside one of these is given by its law.
                if rule.name not in BESIDE_OTHERS:
                    assert kinds, (name, rule.name)
                    assert all(reaches(kind.__module__, awaited) for kind in kinds), (name, rule.name)


# Rules about ops of `treadle.tensor`, each of which looks for one of linear algebra below it or in a loop.
BESIDE_OTHERS = {
    "diagonal_of_blocks",
    "log_of_determinant",
    "product_of_blocks",
    "product_with_inverse",
    "quotient_of_determinant_and_itself",
    "sign_of_determinant",
    "transpose_of_inverse",
}


@pytest.mark.parametrize("backend", ["c", "kernels", "numba", "jax", "pytorch"])
def test_ops_whose_lowerings_are_left_out_import_what_these_await(backend: str) -> None:
    awaiting = {
        e.distribution: modules
        for e in discover(f"treadle.lowerings.{backend}").values()
        if (modules := modules_awaited(e))
    }
    for table in list(LoweringTable.tables):
        if not isinstance(table, LoweringTable) or table.backend != backend:
            continue
        for kind in table.op_types():
            rule = table._rules.get(kind)
            home = "" if rule is None else rule.__module__
            for modules in awaiting.values():
                if home.startswith(modules[0].rpartition(".")[0] + ".lower"):
                    assert reaches(kind.__module__, modules), kind
