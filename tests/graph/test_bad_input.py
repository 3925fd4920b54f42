"""Wrong input is refused with an error that says what was expected."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.graph.arithmetic import NUMBER, Binary, Inverse, number
from treadle.config import TreadleError
from treadle.graph import (
    Apply,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    NodeFinder,
    ancestors,
    apply_depends_on,
    clone,
    clone_replace,
    debugprint,
    equal_computations,
    errors,
    get_var_by_name,
    graph_inputs,
    graph_key,
    graph_replace,
    inplace_candidates,
    io_connection_pattern,
    io_toposort,
    is_in_ancestors,
    toposort,
    truncated_graph_inputs,
    variable_depends_on,
    vars_between,
    vectorize_graph,
)

X = number("x")
Y = Inverse()(X)

# Each takes a list of variables, and is given one variable or something else.
TAKES_A_LIST: list[Callable[[Any], Any]] = [
    ancestors,
    graph_inputs,
    toposort,
    truncated_graph_inputs,
    lambda variables: get_var_by_name(variables, "x"),
    lambda variables: toposort([Y], variables),
    lambda variables: io_toposort([X], variables),
    lambda variables: io_toposort(variables, [Y]),
    lambda variables: vars_between([X], variables),
    lambda variables: clone([X], variables),
    lambda variables: clone(variables, [Y]),
    lambda variables: equal_computations(variables, [Y]),
    lambda variables: graph_key([X], variables),
    lambda variables: io_connection_pattern([X], variables),
    lambda variables: FunctionGraph([X], variables),
    lambda variables: FunctionGraph(variables, [Y]),
    lambda variables: Apply(Inverse(), variables, [NUMBER()]),
    lambda variables: Apply(Inverse(), [X], variables),
]


@pytest.mark.parametrize("function", TAKES_A_LIST)
def test_single_variable_in_place_of_a_list_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(GraphTypeError, match=r"a list of variables(, got| is needed, got) \S+\. Put"):
        function(number("alone"))


@pytest.mark.parametrize("function", TAKES_A_LIST)
def test_list_of_something_else_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(GraphTypeError, match=r" 0 must be a variable, got 'word'"):
        function(["word"])


def test_number_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(GraphTypeError, match=r"depends_on: a list of variables is needed, got 3"):
        variable_depends_on(Y, 3)  # type: ignore[arg-type]  # what the test is about


@pytest.mark.parametrize("replace", [clone_replace, graph_replace, vectorize_graph])
@pytest.mark.parametrize("pairs", [3, X, [X], [(3, X)], {3: X}, [(X, 3, 4)]])
def test_replacements_that_are_not_pairs_of_variables_are_refused(replace: Callable[..., Any], pairs: Any) -> None:
    with pytest.raises(GraphTypeError, match=rf"{replace.__name__}: pairs .* are needed, got"):
        replace([Y], pairs)


def test_variables_may_come_from_an_iterator() -> None:
    assert len(FunctionGraph(iter([X]), iter([Y])).outputs) == 1  # type: ignore[arg-type]  # as above
    inputs, outputs = clone(iter([X]), iter([Y]))  # type: ignore[arg-type]  # as above
    assert (len(inputs), len(outputs)) == (1, 1)
    assert graph_key(iter([X]), iter([Y])) == graph_key([X], [Y])  # type: ignore[arg-type]  # as above
    assert len(truncated_graph_inputs(iter([Y]), [X])) == 1  # type: ignore[arg-type]  # as above
    assert io_connection_pattern(iter([X]), iter([Y])) == [[True]]  # type: ignore[arg-type]  # as above


TAKES_A_NODE: list[Callable[[Any], Any]] = [
    lambda node: apply_depends_on(node, Y.owner or []),
    lambda variable: is_in_ancestors(variable, variable),
    FunctionGraph([X], [Y]).remove_node,
    FunctionGraph([X], [Y]).import_node,
    lambda node: FunctionGraph([X], [Y]).change_node_input(node, 0, X),
]


@pytest.mark.parametrize("function", TAKES_A_NODE)
def test_variable_in_place_of_a_node_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(GraphTypeError, match=r"a node is needed, got x\. Pass an Apply"):
        function(X)


def test_position_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(TreadleError, match=r"there is no output 'first', there are 1"):
        FunctionGraph([X], [Y]).remove_output("first")  # type: ignore[arg-type]  # what the test is about


def test_clients_of_something_else_than_a_variable_are_refused() -> None:
    with pytest.raises(GraphTypeError, match=r"variable 0 must be a variable, got 3"):
        FunctionGraph([X], [Y]).get_clients(3)  # type: ignore[arg-type]  # what the test is about


@pytest.mark.parametrize("feature", [3, NodeFinder])
def test_object_that_is_not_a_feature_is_not_attached(feature: Any) -> None:
    graph = FunctionGraph([X], [Y])
    with pytest.raises(GraphTypeError, match=r"a feature is needed, got"):
        graph.attach_feature(feature)
    assert graph.features == ()


def test_candidates_for_work_in_place_need_a_destroy_handler() -> None:
    graph = FunctionGraph([X], [Y])
    with pytest.raises(TreadleError, match=r"has no DestroyHandler\. Attach one"):
        inplace_candidates(graph, graph.inputs)


def test_path_in_place_of_a_file_is_refused() -> None:
    with pytest.raises(TreadleError, match=r"file must be an open text file or 'str', got 'graph\.txt'"):
        debugprint(Y, file="graph.txt")


def test_attribute_of_a_tag_that_was_never_set_is_an_error_of_both_kinds() -> None:
    with pytest.raises(TreadleError, match=r"tag: 'missing' was never set on it") as caught:
        _ = number().tag.missing
    assert isinstance(caught.value, AttributeError)


def test_refused_outputs_are_left_without_owner() -> None:
    fresh = NUMBER()
    with pytest.raises(GraphTypeError, match=r"output 1 must be a variable"):
        Apply(Binary("+"), [X, X], [fresh, "word"])  # type: ignore[type-var]  # what the test is about
    assert fresh.owner is None
    with pytest.raises(GraphValueError, match=r"output 1 is computed by .* already"):
        Apply(Inverse(), [X], [fresh, Y])
    assert (fresh.owner, fresh.index) == (None, None)
    with pytest.raises(GraphValueError, match=r"output 1 is given twice"):
        Apply(Inverse(), [X], [fresh, fresh])
    assert (fresh.owner, fresh.index) == (None, None)


KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__]
BASES = (errors.GraphError, errors.CallError)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in BASES])
def test_error_derives_from_that_of_treadle_and_a_builtin(kind: type[BaseException]) -> None:
    assert issubclass(kind, TreadleError)
    assert next(base for base in kind.__mro__ if base.__module__ == "builtins") is not Exception


class Wordless:
    """An object whose text fails."""

    def __repr__(self) -> str:
        msg = "no text"
        raise RuntimeError(msg)


OF_THE_WRONG_KIND: list[Any] = [
    *(3, 2.5, float("inf"), "ab", b"x", [1], [None], {1: 2}, np.ones(3), np.array(True), object(), [[X]], lambda: 0),
    *(FunctionGraph, {0: 9}, {"a": 0}, {0: -1}, Wordless()),
]
TAKES_SOMETHING: dict[str, Callable[[Any], Any]] = {
    "features": lambda value: FunctionGraph([X], [Y], features=value),
    "a feature": lambda value: FunctionGraph([X], [Y], features=[value]),
    "clone": lambda value: FunctionGraph([X], [Y], clone=value),
    "update_mapping": lambda value: FunctionGraph([X], [Y], update_mapping=value),
    "copy_inputs": lambda value: FunctionGraph([X], [Y], copy_inputs=value),
    "copy_orphans": lambda value: FunctionGraph([X], [Y], copy_orphans=value),
    "clone's copy_inputs": lambda value: clone([X], [Y], copy_inputs=value),
    "clone_inner_graphs": lambda value: clone([X], [Y], clone_inner_graphs=value),
    "pairs of clone_replace": lambda value: clone_replace(Y, value),
    "rebuild_strict": lambda value: clone_replace(Y, {X: X}, rebuild_strict=value),
    "copy_inputs_over": lambda value: clone_replace(Y, {X: X}, copy_inputs_over=value),
    "pairs of graph_replace": lambda value: graph_replace(Y, value),
    "strict": lambda value: graph_replace(Y, {X: X}, strict=value),
    "attach_feature": lambda value: FunctionGraph([X], [Y]).attach_feature(value),
    "pairs of replace_all": lambda value: FunctionGraph([X], [Y]).replace_all(value),
    "remove_input": lambda value: FunctionGraph([X], [Y]).remove_input(value),
    "remove_output": lambda value: FunctionGraph([X], [Y]).remove_output(value),
    "get_clients": lambda value: FunctionGraph([X], [Y]).get_clients(value),
}


@pytest.mark.parametrize("name", TAKES_SOMETHING)
def test_arguments_of_graphs_are_accepted_or_refused_with_an_error_of_treadle(name: str) -> None:
    refused = 0
    for value in OF_THE_WRONG_KIND:
        try:
            TAKES_SOMETHING[name](value)
        except TreadleError:
            refused += 1
    assert refused >= len(OF_THE_WRONG_KIND) - 4  # an empty string, or a mapping of positions, may be valid
