"""Copies of graphs, graphs with parts exchanged, and structural equality."""

import sys
from types import FrameType, SimpleNamespace

import pytest

from tests.graph.arithmetic import NUMBER, Number, add, chain, inverse, mul, number
from treadle.graph import (
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    SharedVariable,
    Variable,
    clone,
    clone_get_equiv,
    clone_node_and_cache,
    clone_replace,
    equal_computations,
    graph_key,
    graph_replace,
)
from treadle.graph.diagnostics import provenance


def same(x: Variable, y: Variable) -> bool:
    return equal_computations([x], [y])


def test_clone_makes_new_inputs_and_nodes_but_keeps_values() -> None:
    x, state = number("x"), SharedVariable(NUMBER, 1.0, name="state")
    one = NUMBER.make_constant(1.0)
    (new_x,), (new_out,) = clone([x], [add(add(x, state), one)])
    assert new_x is not x
    assert same(new_out, add(add(new_x, state), one))


def test_clone_can_keep_inputs_and_orphans() -> None:
    x, orphan = number("x"), number("orphan")
    out = add(x, orphan)
    (kept,), (new_out,) = clone([x], [out], copy_inputs=False, copy_orphans=False)
    assert kept is x
    assert new_out.owner is not None
    assert new_out.owner.inputs == [x, orphan]
    _, (other,) = clone([x], [out])
    assert other.owner is not None
    assert other.owner.inputs[1] is not orphan


def test_equivalence_maps_variables_and_nodes() -> None:
    x = number("x")
    out = inverse(x)
    equiv = clone_get_equiv([x], [out])
    assert equiv[out].owner is equiv[out.owner]
    assert equiv[x] is equiv[out].owner.inputs[0]


def test_clone_replace_exchanges_variables_everywhere() -> None:
    x, y = number("x"), number("y")
    square = mul(x, x)
    replaced = clone_replace(add(square, x), {square: y})
    assert same(replaced, add(y, x))
    both = clone_replace([square, add(square, x)], [(x, y)])
    assert equal_computations(both, [mul(y, y), add(mul(y, y), y)])


def test_clone_replace_does_not_search_replacements() -> None:
    x = number("x")
    assert same(clone_replace(inverse(x), {x: add(x, x)}), inverse(add(x, x)))


def test_clone_replace_keeps_the_type_unless_told_otherwise() -> None:
    x, length = number("x"), Number("m")("length")
    with pytest.raises(GraphTypeError, match="a variable of this type is needed"):
        clone_replace(inverse(x), {x: length})
    assert clone_replace(inverse(x), {x: length}, rebuild_strict=False).type == Number("m")


@pytest.mark.parametrize("wrong", [[1], [(1, 2)], {1: 2}, [(1, 2, 3)]])
def test_replacements_must_be_pairs_of_variables(wrong: object) -> None:
    with pytest.raises(GraphTypeError, match="pairs"):
        clone_replace(number("x"), wrong)  # type: ignore[call-overload]  # what the test is about


def test_graph_replace_copies_only_what_depends_on_the_replaced() -> None:
    x, y = number("x"), number("y")
    kept = inverse(y)
    out = add(kept, mul(x, x))
    new = graph_replace(out, {x: y})
    assert same(new, add(kept, mul(y, y)))
    assert new.owner.inputs[0] is kept


def test_graph_replace_applies_all_at_once() -> None:
    x, y = number("x"), number("y")
    assert same(graph_replace(add(x, y), {x: y, y: x}), add(y, x))


def test_values_take_the_places_of_variables_as_constants_of_their_types() -> None:
    x, y = number("x"), number("y")
    for replaced in (graph_replace(add(x, y), {x: 2}), clone_replace(add(x, y), [(x, 2)])):
        assert same(replaced, add(NUMBER.make_constant(2.0), y))
    inner = inverse(y)
    graph = FunctionGraph([y], [add(y, inner)], clone=False)
    graph.replace_all([(inner, 3.0)])
    assert same(graph.outputs[0], add(y, NUMBER.make_constant(3.0)))
    with pytest.raises(GraphTypeError, match="graph_replace: x is to be replaced by 'a', which is no variable and no"):
        graph_replace(inverse(x), {x: "a"})


def test_graph_replace_can_replace_outputs() -> None:
    x, y = number("x"), number("y")
    assert graph_replace([x, inverse(x)], {x: y})[0] is y


def test_graph_replace_refuses_variables_that_do_not_occur() -> None:
    x = number("x")
    with pytest.raises(GraphValueError, match="other does not occur in the graph"):
        graph_replace(inverse(x), {number("other"): x})
    assert same(graph_replace(inverse(x), {number("other"): x}, strict=False), inverse(x))


def test_clone_keeps_the_users_line() -> None:
    x = number("x")
    out = inverse(x)
    _, (new,) = clone([x], [out])
    assert new.user_line == out.user_line


def test_equal_computations_compare_structure() -> None:
    x, y = number("x"), number("y")
    assert same(add(x, y), add(x, y))
    assert not same(add(x, y), add(y, x))
    assert not same(add(x, y), mul(x, y))
    assert same(add(x, 1.0), add(x, 1.0))
    assert not same(add(x, 1.0), add(x, 2.0))
    assert not equal_computations([x], [x, x])


def test_equal_computations_match_inputs_by_position() -> None:
    x, y = number("x"), number("y")
    assert equal_computations([inverse(x)], [inverse(y)], [x], [y])
    assert not equal_computations([add(x, y)], [add(y, y)], [x, y], [y, x])
    other = Number("m")("other")
    assert not equal_computations([x], [other], [x], [other])


def test_key_of_a_graph_ignores_names_but_not_structure_types_or_values() -> None:
    def key(kind: Number, symbol: float, swapped: bool = False) -> str:
        x, y = kind("any"), kind()
        left, right = (y, x) if swapped else (x, y)
        return graph_key([x, y], [add(add(left, right), kind.make_constant(symbol))])

    assert key(NUMBER, 1.0) == key(NUMBER, 1.0)
    assert len({key(NUMBER, 1.0), key(NUMBER, 2.0), key(Number("m"), 1.0), key(NUMBER, 1.0, swapped=True)}) == 4


def test_key_tells_sharing_apart() -> None:
    x = number("x")
    once = inverse(x)
    assert graph_key([x], [add(once, once)]) != graph_key([x], [add(inverse(x), inverse(x))])


def test_copies_may_keep_orphans_apart_from_inputs() -> None:
    x, orphan = number("x"), number("orphan")
    out = add(x, orphan)
    _, (kept,) = clone([x], [out], copy_inputs=False)
    assert kept.owner is not None
    assert kept.owner.inputs == [x, orphan]
    _, (copied,) = clone([x], [out], copy_inputs=False, copy_orphans=True)
    assert copied.owner is not None
    assert copied.owner.inputs[1] is not orphan


def test_memo_says_what_stands_for_what_already() -> None:
    x, y = number("x"), number("y")
    inner = inverse(x)
    out = add(inner, x)
    memo = clone_get_equiv([x], [out], memo={inner: y})
    assert memo[out].owner.inputs[0] is y
    assert inner.owner not in memo


def test_node_is_copied_once_onto_what_stands_for_its_inputs() -> None:
    x, y = number("x"), number("y")
    node = inverse(x).owner
    memo: dict[object, object] = {x: y}
    new = clone_node_and_cache(node, memo)
    assert new is not None
    assert (new.inputs, memo[node], memo[node.outputs[0]]) == ([y], new, new.outputs[0])
    assert clone_node_and_cache(node, memo) is None


def test_ops_with_inner_graphs_are_copied_once_on_request() -> None:
    from tests.graph.test_inner_graph import doubled

    op = doubled(2)
    x = number("x")
    out = op(op(x))
    _, (kept,) = clone([x], [out])
    assert kept.owner is not None
    assert kept.owner.op is op
    _, (copied,) = clone([x], [out], clone_inner_graphs=True)
    assert copied.owner is not None
    new = copied.owner.op
    assert new is not op
    assert copied.owner.inputs[0].owner is not None
    assert copied.owner.inputs[0].owner.op is new
    assert clone_replace(out, {x: number("y")}, clone_inner_graphs=True).owner.op is not op


def test_inputs_that_are_not_replaced_stay_unless_told_otherwise() -> None:
    x, y = number("x"), number("y")
    assert clone_replace(add(x, y)).owner.inputs == [x, y]
    other = clone_replace(add(x, y), {x: y}, copy_inputs_over=False)
    assert other.owner.inputs[0] is y


def test_several_outputs_and_intermediate_variables_are_replaced_at_once() -> None:
    x, y = number("x"), number("y")
    inner = inverse(x)
    outer = mul(inner, x)
    first, second = graph_replace([add(outer, inner), outer], {inner: y, x: inner})
    assert equal_computations([first, second], [add(mul(y, inner), y), mul(y, inner)])
    # A variable that only the replaced part uses still occurs in the graph.
    assert same(graph_replace([inverse(outer)], {outer: y, inner: x})[0], inverse(y))
    assert graph_replace(outer) is outer


def test_long_and_wide_graphs_are_copied_and_replaced_without_recursion(length: int, width: int) -> None:
    x, y = number("x"), number("y")
    wide = [inverse(x) for _ in range(width)]
    total = wide[0]
    for term in wide[1:]:
        total = add(total, term)
    for out in (chain(x, length), total):
        assert equal_computations([graph_replace(out, {x: y})], [clone_replace(out, {x: y})])
        (new_x,), (new,) = clone([x], [out])
        assert equal_computations([new], [out], [new_x], [x])
        assert graph_key([new_x], [new]) == graph_key([x], [out])


def test_copied_nodes_take_their_lines_without_a_look_at_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    x = number("x")
    out = chain(x, 20)
    looked_at = []

    def frame(depth: int) -> FrameType:
        looked_at.append(depth)
        return sys._getframe(depth + 1)

    monkeypatch.setattr(provenance, "sys", SimpleNamespace(_getframe=frame))
    _, (copied,) = clone([x], [out])
    assert looked_at == []
    assert copied.owner is not None
    assert out.owner is not None
    assert copied.owner.user_line is out.owner.user_line
    inverse(x)
    assert looked_at == [2]
