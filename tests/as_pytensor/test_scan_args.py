"""ScanArgs: loops taken apart, changed and put together."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

import treadle.as_pytensor
from treadle import tensor as tt
from treadle.graph import Apply, GraphTypeError
from treadle.tensor import dscalar, dvector, lscalar


@pytest.fixture(autouse=True)
def _in_place_of_pytensor() -> Iterator[None]:
    treadle.as_pytensor.install()
    yield
    treadle.as_pytensor.uninstall()


@pytest.fixture
def loop() -> tuple[Any, Any, Apply]:
    """A scalar, a vector, and a node of a loop over them: a state, and a result."""
    import pytensor

    start, x = dscalar("start"), dvector("x")
    state, _ = pytensor.scan(
        lambda row, before: (before * row, row + 1), sequences=[x], outputs_info=[start, None], return_updates=False
    )
    return start, x, state.owner.inputs[0].owner


def rebuilt(args: Any) -> Any:
    from pytensor.scan.op import Scan

    return Scan(args.inner_inputs, args.inner_outputs, args.info).make_node(*args.outer_inputs).outputs


def test_fields_make_up_the_loop_that_they_are_from(loop: tuple[Any, Any, Apply]) -> None:
    from pytensor.scan.utils import ScanArgs

    node = loop[2]
    args = ScanArgs.from_node(node)
    op: Any = node.op
    assert args.outer_inputs == list(node.inputs)
    assert args.outer_outputs == list(node.outputs)
    assert args.inner_inputs == op.inner_inputs
    assert args.inner_outputs == op.inner_outputs
    assert args.info == op.info
    assert args == ScanArgs.from_node(node)


def test_variables_are_found_with_their_counterparts(loop: tuple[Any, Any, Apply]) -> None:
    from pytensor.scan.utils import FieldInfo, ScanArgs

    args = ScanArgs.from_node(loop[2])
    new = args.inner_out_sit_sot[0]
    assert args.find_among_fields(new) == FieldInfo("inner_out_sit_sot", "inner_outputs", 0, None, 0)
    assert args.get_alt_field(new, "outer_out") is loop[2].outputs[0]
    assert args.get_alt_field(loop[2].outputs[0], "inner_in") is args.inner_in_sit_sot[0]
    assert args.find_among_fields(lscalar()) is None
    assert args.find_among_fields(new, field_filter=lambda name: name.startswith("outer")) is None
    with pytest.raises(ValueError, match="among fields"):
        args.get_alt_field(lscalar(), "outer_in")


def test_taps_of_one_state_stand_in_one_list() -> None:
    import pytensor
    from pytensor.scan.utils import FieldInfo, ScanArgs

    old = dvector("old")
    result = pytensor.scan(
        lambda a, b: a + b, outputs_info=[{"initial": old, "taps": [-2, -1]}], n_steps=3, return_updates=False
    )
    args = ScanArgs.from_node(result.owner.inputs[0].owner)
    taps = args.inner_in_mit_sot[0]
    assert args.find_among_fields(taps[1]) == FieldInfo("inner_in_mit_sot", "inner_inputs", 0, 1, 1)
    assert args.mit_sot_in_slices == ((-2, -1),)


def test_what_belongs_to_a_variable_is_removed_with_it(loop: tuple[Any, Any, Apply]) -> None:
    from pytensor.scan.utils import ScanArgs

    args = ScanArgs.from_node(loop[2], clone=True)
    removed = args.remove_from_fields(args.inner_out_nit_sot[0])
    assert sorted(place.name for _, place in removed) == ["inner_out_nit_sot", "outer_in_nit_sot", "outer_out_nit_sot"]
    assert (args.info.n_nit_sot, args.info.n_sit_sot) == (0, 1)
    alone = ScanArgs.from_node(loop[2], clone=True)
    assert len(alone.remove_from_fields(alone.outer_in_seqs[0], rm_dependents=False)) == 1
    everything = ScanArgs.from_node(loop[2], clone=True)
    assert len(everything.remove_from_fields(everything.outer_in_seqs[0])) == 9


def test_a_changed_copy_is_a_loop_of_its_own(loop: tuple[Any, Any, Apply]) -> None:
    import pytensor
    from pytensor.scan.utils import ScanArgs

    start, x, node = loop
    args = ScanArgs.from_node(node, clone=True)
    more = copy.copy(args)
    more.inner_out_nit_sot.append(more.inner_in_sit_sot[0] ** 2)
    more.outer_in_nit_sot.append(more.n_steps)
    assert (args.info.n_nit_sot, more.info.n_nit_sot) == (1, 2)
    values = pytensor.function([start, x], rebuilt(more))(1.5, [2.0, 3.0])
    assert [v.tolist() for v in values] == [[1.5, 3.0, 9.0], [3.0, 4.0], [2.25, 9.0]]
    both = args.merge(ScanArgs.from_node(node, clone=True))
    assert both.info.n_sit_sot == 2
    assert len(rebuilt(both)) == 4


def test_other_nodes_are_refused() -> None:
    from pytensor.scan.utils import ScanArgs

    with pytest.raises(GraphTypeError, match="is not a Scan node"):
        ScanArgs.from_node((dscalar() + 1).owner)


def test_variables_are_copied_and_graphs_reconstructed() -> None:
    from pytensor.scan.utils import expand_empty, forced_replace, reconstruct_graph, safe_new

    x = dvector("x")
    new = safe_new(x, "_copy")
    assert (new.name, new.type) == ("x_copy", x.type)
    assert safe_new(x, dtype="float32").dtype == "float32"
    constant = tt.constant(1.5)
    assert safe_new(constant) is constant
    (fresh,), (out,) = reconstruct_graph([x], [x * 2], "_new")
    assert out.eval({fresh: [1.0]}).tolist() == [2.0]
    y = dvector("y")
    replaced = forced_replace(tt.exp(x) + tt.exp(x) * 2, tt.exp(x), y)
    assert replaced.eval({y: [1.0]}).tolist() == [3.0]
    assert expand_empty(x, 2).eval({x: [1.0, 2.0]})[:2].tolist() == [1.0, 2.0]
