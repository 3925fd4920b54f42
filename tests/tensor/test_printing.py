"""debugprint of tensor graphs, as golden text."""

import treadle.tensor as tt
from treadle.graph import debugprint

GOLDEN = """\
True_div [id A]
 ├─ Sum{axes=[0]} [id B]
 │   └─ Softplus [id C]
 │       └─ Neg [id D]
 │           └─ DimShuffle{0} [id E]
 │               └─ MatMul [id F]
 │                   ├─ x [id G]
 │                   └─ DimShuffle{0,x} [id H]
 │                       └─ w [id I]
 └─ Cast_float64 [id J]
     └─ ShapeI(axis=0) [id K]
         └─ Softplus [id C]
             └─ ···"""


def test_graph_is_printed_with_ops_names_and_ids() -> None:
    x, w = tt.dmatrix("x"), tt.dvector("w")
    loss = tt.mean(tt.softplus(-(x @ w)))
    assert debugprint(loss, file="str") == GOLDEN
