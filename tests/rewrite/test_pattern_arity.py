"""Patterns and nodes that differ in numbers of operands and outputs: no match, and never an error of Python's own."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.toys import Number, P, add, graph, inc, neg, number, split, text
from treadle.graph import Apply, Op, Variable, explicit_graph_inputs, static_op
from treadle.rewrite import RuleDefinitionError
from treadle.rewrite.engine.run import replacements
from treadle.rewrite.pattern import Law
from treadle.surface.rewriters import PatternNodeRewriter, SubstitutionNodeRewriter, in2out

if TYPE_CHECKING:
    from collections.abc import Sequence


@static_op
class Many(Op):
    """An op of any number of inputs."""

    name: str
    outputs: int = 1
    default: int | None = None

    def __post_init__(self) -> None:
        if self.default is not None:
            object.__setattr__(self, "default_output", self.default)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, inputs, [Number()() for _ in range(self.outputs)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name


def rewritten(rewriter: Any, *outputs: Variable) -> list[str]:
    """Return the outputs as text, after one walk of a rewriter."""
    fg = graph(list(explicit_graph_inputs(outputs)), *outputs)
    in2out(rewriter).rewrite(fg)
    return [text(v) for v in fg.outputs]


many = Many("many")
pair = Many("pair", 2)
second_of_pair = Many("second_of_pair", 2, 1)


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_node_of_another_number_of_operands_does_not_match(count: int) -> None:
    node = many(*[number(name) for name in "abcd"[:count]])
    before = text(node)
    assert rewritten(PatternNodeRewriter((many, "x", "y"), (add, "x", "y")), node) == [before]


@pytest.mark.parametrize("count", [0, 1, 3, 4])
@pytest.mark.parametrize("head", [many, Many])
def test_inner_node_of_another_number_of_operands_does_not_match(count: int, head: Any) -> None:
    node = neg(many(*[number(name) for name in "abcd"[:count]]))
    before = text(node)
    assert rewritten(PatternNodeRewriter((neg, (head, "x", "y")), (add, "x", "y")), node) == [before]


def test_law_says_that_the_number_of_operands_differs() -> None:
    law = Law("two", many(P("x"), P("y")), P("x"), None, None, None)
    node = many(number("a")).owner
    assert law(node) is None
    assert law.mismatch(node) == "the pattern has 2 operands, the node 1"


@pytest.mark.parametrize("right", ["x", 7, (neg, "x"), lambda fgraph, node, match: match["x"]])  # noqa: ARG005 - its form
def test_one_variable_replaces_no_node_of_several_outputs_without_a_default_one(right: Any) -> None:
    first, second = pair(number("a"))
    assert rewritten(PatternNodeRewriter((pair, "x"), right), second, first) == ["pair(a).1", "pair(a).0"]


@pytest.mark.parametrize("right", ["x", (neg, "x"), lambda fgraph, node, match: match["x"]])  # noqa: ARG005 - its form
def test_default_output_that_is_not_the_first_is_what_is_replaced(right: Any) -> None:
    node = second_of_pair.make_node(number("a"))
    texts = rewritten(PatternNodeRewriter((second_of_pair, "x"), right), *node.outputs)
    assert texts[0] == "second_of_pair(a).0"
    assert texts[1] in {"a", "neg(a)"}


def test_constraint_on_the_whole_sees_the_default_output() -> None:
    seen: list[Variable] = []
    node = second_of_pair.make_node(number("a"))
    left = {"pattern": (second_of_pair, "x"), "constraint": lambda var: not seen.append(var)}  # type: ignore[func-returns-value]  # None
    rewritten(PatternNodeRewriter(left, "x"), *node.outputs)
    assert seen[0] is node.outputs[1]


def test_function_may_give_a_variable_for_each_output() -> None:
    node = pair.make_node(number("a"))
    rewriter = PatternNodeRewriter((pair, "x"), lambda fgraph, node, match: [neg(match["x"]), None])  # noqa: ARG005
    assert rewritten(rewriter, *node.outputs) == ["neg(a)", "pair(a).1"]


def test_node_found_elsewhere_may_have_several_outputs() -> None:
    rewriter = PatternNodeRewriter(
        (pair, "x"),
        lambda fgraph, node, match: [neg(match["x"]), inc(match["x"])],  # noqa: ARG005 - the form of a right side
        tracks=[add],
        get_nodes=lambda fgraph, node: node.inputs,  # noqa: ARG005 - the documented form
    )
    assert rewritten(rewriter, add(*pair(number("a")))) == ["add(neg(a), inc(a))"]


def test_output_of_a_pattern_must_exist_in_the_node() -> None:
    one, two = Many("any"), Many("any", 2)
    pattern = neg(type(P("x")).pattern_of(Many, [P("x")]).output(1))
    rule = Law("second", pattern, P("x"), None, None, None)
    a = number("a")
    assert rule(neg(one(a)).owner) is None
    assert rule(neg(two(a)[1]).owner) is a


def test_other_output_than_the_default_one_may_be_built() -> None:
    right = inc(second_of_pair(P("x")).output(0))
    assert rewritten(PatternNodeRewriter((neg, "x"), right), neg(number("a"))) == ["inc(second_of_pair(a).0)"]


def test_right_side_that_builds_on_several_outputs_is_reported() -> None:
    a = number("a")
    node = neg.make_node(a)
    fg = graph([a], *node.outputs)
    with pytest.raises(RuleDefinitionError, match=r"split\(x\) has 2 outputs and no default one"):
        PatternNodeRewriter((neg, "x"), (inc, (split, "x"))).transform(fg, node)
    with pytest.raises(RuleDefinitionError, match="inc gives 1 outputs"):
        PatternNodeRewriter((neg, "x"), inc(P("x")).output(3)).transform(fg, node)


def test_class_of_ops_on_the_right_and_positions_below_zero_are_refused() -> None:
    with pytest.raises(RuleDefinitionError, match="the right side applies a class of ops"):
        PatternNodeRewriter((neg, "x"), (inc, (Many, "x")))
    with pytest.raises(RuleDefinitionError, match="takes the position of an output"):
        split(P("x")).output(-1)


# Random nodes against random patterns, compared with a matcher written from the documentation.

_OPS = [Many(f"f{outputs}{default}", outputs, default) for outputs in (1, 2, 3) for default in (None, 0, outputs - 1)]


def _standing(node: Apply) -> Variable | None:
    default = node.op.default_output
    if default is not None:
        return node.outputs[default]
    return node.outputs[0] if len(node.outputs) == 1 else None


def _matches(pattern: Any, var: Variable, match: dict[str, Variable]) -> bool:
    if isinstance(pattern, str):
        return match.setdefault(pattern, var) is var
    return var.owner is not None and _standing(var.owner) is var and _node_matches(pattern, var.owner, match)


def _node_matches(pattern: Any, node: Apply, match: dict[str, Variable]) -> bool:
    head, *parts = pattern
    fits = isinstance(node.op, head) if isinstance(head, type) else node.op == head
    return fits and len(parts) == len(node.inputs) and all(map(_matches, parts, node.inputs, [match] * len(parts)))


def _expected(left: Any, right: Any, node: Apply) -> dict[int, str]:
    """Return the text of what replaces each output."""
    match: dict[str, Variable] = {}
    if not _node_matches(left, node, match):
        return {}
    if isinstance(right, str):
        texts = [text(match[right])]
    else:
        new = right[0].make_node(*[match[name] for name in right[1:]])
        one = _standing(new)
        texts = [text(v) for v in (new.outputs if one is None else [one])]
    if len(texts) == 1:
        old = _standing(node)
        return {} if old is None else {old.index: texts[0]}  # type: ignore[dict-item]  # an output has an index
    return dict(enumerate(texts)) if len(texts) == len(node.outputs) else {}


def _random_variable(rng: random.Random, leaves: Sequence[Variable], depth: int) -> Variable:
    if depth == 0 or rng.random() < 0.4:
        return rng.choice(leaves)
    op = rng.choice(_OPS)
    node = op.make_node(*[_random_variable(rng, leaves, depth - 1) for _ in range(rng.randrange(5))])
    return rng.choice(node.outputs)


def _pattern_near(rng: random.Random, node: Apply, depth: int, names: dict[Variable, str]) -> tuple[Any, ...]:
    """Return a pattern of the node, with a chance of other ops, other numbers of operands, other holes."""
    head: Any = node.op if rng.random() < 0.8 else rng.choice([*_OPS, Many])
    parts: list[Any] = []
    for x in node.inputs:
        if depth and x.owner is not None and rng.random() < 0.6:
            parts.append(_pattern_near(rng, x.owner, depth - 1, names))
        else:
            parts.append(names.setdefault(x, f"v{len(names)}") if rng.random() < 0.8 else rng.choice("vw"))
    if rng.random() < 0.25:
        parts = parts[: rng.randrange(len(parts) + 1)] if rng.random() < 0.5 else [*parts, "more"]
    return (head, *parts)


def _holes(pattern: Any) -> list[str]:
    return [pattern] if isinstance(pattern, str) else [name for part in pattern[1:] for name in _holes(part)]


def _check_one(rng: random.Random) -> bool:
    """Compare one rewriter with the matcher above on one node; return whether it matched."""
    leaves = [number(name) for name in "abcd"]
    node = rng.choice(_OPS).make_node(*[_random_variable(rng, leaves, 2) for _ in range(rng.randrange(5))])
    left = _pattern_near(rng, node, 2, {})
    holes = _holes(left)
    right: Any = rng.choice(holes) if holes and rng.random() < 0.5 else None
    if right is None:
        right = (rng.choice(_OPS), *[rng.choice(holes) for _ in range(rng.randrange(3)) if holes])
    expected = _expected(left, right, node)
    rewriter = PatternNodeRewriter(left, right, allow_multiple_clients=True)
    answer = rewriter.transform(graph(leaves, *node.outputs), node)
    pairs, _ = ([], ()) if answer is None else replacements("net", node, answer)
    actual = {old.index: text(new) for old, new in pairs}
    assert actual == expected, (left, right, str(node))
    return bool(expected)


def _substitution(rng: random.Random) -> None:
    """Substitute an op by one of another number of outputs: refused with the rule's name, or done."""
    leaves = [number(name) for name in "abcd"]
    old, new = rng.choice(_OPS), rng.choice(_OPS)
    node = old.make_node(*rng.choices(leaves, k=rng.randrange(5)))
    outputs = SubstitutionNodeRewriter(old, new).transform(graph(leaves, *node.outputs), node)
    assert outputs is not None
    assert len(outputs) == new.outputs
    assert outputs[0].owner is not None
    assert outputs[0].owner.inputs == node.inputs


def _run_net(seed: int, count: int) -> None:
    rng = random.Random(seed)
    matched = sum(_check_one(rng) for _ in range(count))
    assert count // 10 < matched < count - count // 10
    for _ in range(count // 10):
        _substitution(rng)


@pytest.mark.parametrize("seed", range(3))
def test_random_patterns_match_what_the_documentation_says(seed: int) -> None:
    _run_net(seed, 400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_many_random_patterns_match_what_the_documentation_says(seed: int) -> None:
    _run_net(seed, 5000)
