"""PyTensor's rules by name: tags of treadle's rules, and rewriters."""

from __future__ import annotations

from importlib import resources

from tests.as_pytensor.processes import values
from treadle.rewrite import optdb

QUERIES = """
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile import get_mode, optdb
from pytensor.graph.rewriting.basic import in2out
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.tensor.rewriting.math import local_log1p, local_mul_canonizer
from pytensor.tensor.rewriting.elemwise import local_useless_elemwise
from treadle.as_pytensor.adapters.rules import RULES

values["unknown"] = [name for name in RULES.rules if name not in optdb.tags]
values["tagged"] = sum(bool(optdb.select(RewriteDatabaseQuery([name]))) for name in RULES.rules)
x = pt.dvector("x")

def names(mode):
    return [str(node.op) for node in pytensor.function([x], pt.log(1 + x), mode=mode).maker.fgraph.toposort()]

mode = get_mode("VM")
values["as it is"] = names(mode)
values["excluded"] = names(mode.excluding("local_log1p", "fusion", "inplace"))
values["included"] = names(get_mode(None).including("local_log1p"))
values["no counterpart"] = names(mode.excluding("local_dot_to_dot22", "no_such_rule"))
graph = pytensor.graph.FunctionGraph([x], [pt.log(1 + x)], clone=False)
in2out(local_log1p).rewrite(graph)
values["rewriter"] = str(graph.outputs[0].owner.op)
values["kinds"] = [type(rule).__name__ for rule in (local_log1p, local_mul_canonizer, local_useless_elemwise)]
values["database"] = type(optdb.query("+fast_run", "-local_log1p", "-local_elemwise_fusion")).__name__
"""


def test_table_names_rules_that_there_are() -> None:
    rows = (resources.files("treadle.as_pytensor") / "rules.tsv").read_text(encoding="utf-8").splitlines()
    rules = {rule for row in rows for rule in row.partition("\t")[2].split()}
    assert len(rows) == 365
    assert rules <= {entry.name for _, entry in optdb.walk()}


def test_queries_and_imports_take_the_names() -> None:
    found = values(QUERIES)
    assert found["unknown"] == []
    assert found["tagged"] >= 260
    assert found["as it is"] == ["Log1p"]
    assert found["excluded"] == ["Add", "Log"]
    assert found["included"] == ["Log1p"]
    assert found["no counterpart"] == ["Log1p"]
    assert found["rewriter"] == "Log1p"
    assert found["database"] != "NoneType"
    assert found["kinds"] == ["SequentialNodeRewriter"] * 3
