"""Copies of graphs, and graphs with parts replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from treadle.config import text_of
from treadle.graph.algorithms.origins import carry_origins, origins, was_written_with
from treadle.graph.algorithms.traversal import toposort, vars_between
from treadle.graph.errors import GraphTypeError, GraphValueError
from treadle.graph.ir.arguments import as_flag, as_list
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.variable import Variable, has_value, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph.ir.apply import Apply

Equivalence = dict[Any, Any]
# A mapping is not covariant in its keys, which may be of any class of variable.
Replacements: TypeAlias = "Mapping[Any, Any] | Iterable[tuple[Variable, Any]]"


def clone_get_equiv(
    inputs: Sequence[Variable],
    outputs: Iterable[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool = True,
    memo: Equivalence | None = None,
    clone_inner_graphs: bool | None = None,
    *,
    strict: bool = True,
) -> Equivalence:
    """Copy the graph between `inputs` and `outputs`; return a mapping from old variables and nodes to new ones.

    Parameters
    ----------
    inputs
        Variables taken as given.
    outputs
        Variables to copy the computation of.
    copy_inputs
        Whether the inputs become new variables.
    copy_orphans
        Whether variables without owner that are not inputs become new ones. Constants and shared variables are
        always kept: they stand for a value.
    memo
        Copies that exist already; it is extended and returned.
    clone_inner_graphs
        Whether ops with an inner graph are copied too, each once, with a graph of their own.
    strict
        Whether replaced inputs must keep the type.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> result = tt.exp(x)
    >>> copies = clone_get_equiv([x], [result])
    >>> copies[result] is result, tt.pprint(copies[result])
    (False, 'exp(x)')
    """
    equiv: Equivalence = {} if memo is None else memo
    unchecked: object = memo
    if not (unchecked is None or isinstance(unchecked, dict)):
        msg = f"clone: memo must hold copies by what they are copies of, got {text_of(memo)}. Pass a dict."
        raise GraphTypeError(msg)
    copy_inputs, copy_orphans = as_flag("clone: copy_inputs", copy_inputs), as_flag("clone: copy_orphans", copy_orphans)
    inner = clone_inner_graphs is not None and as_flag("clone: clone_inner_graphs", clone_inner_graphs)
    for var in listed("input", inputs):
        equiv.setdefault(var, var.clone() if copy_inputs else var)
    outs = listed("output", outputs)
    for node in toposort(outs, [v for v in equiv if isinstance(v, Variable)]):
        for var in node.inputs:
            if var not in equiv:
                equiv[var] = var.clone() if copy_orphans and not has_value(var) else var
        if node not in equiv:
            clone_node_and_cache(node, equiv, inner, strict=strict)
    for out in outs:
        if out not in equiv:
            equiv[out] = out.clone() if copy_orphans and not has_value(out) else out
    return equiv


def clone_node_and_cache(
    node: Apply, clone_d: Equivalence, clone_inner_graphs: bool = False, *, strict: bool = True
) -> Apply | None:
    """Copy a node onto the copies of its inputs, and enter node and outputs.

    Parameters
    ----------
    node
        The node.
    clone_d
        Maps old variables and nodes to copies; every input of the node must be there. It is extended.
    clone_inner_graphs
        Whether an op with an inner graph is copied, once for all its nodes.
    strict
        Whether the types of the inputs must be kept.

    Returns
    -------
    The new node, or None where each output has a copy already.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> result, z = tt.exp(x), tt.dscalar("z")
    >>> node = clone_node_and_cache(result.owner, {x: z})
    >>> tt.pprint(node.out)
    'exp(z)'
    """
    if all(out in clone_d for out in node.outputs) and node.outputs:
        return None
    new = node.clone_with_new_inputs([clone_d[v] for v in node.inputs], strict=strict)
    if clone_inner_graphs and isinstance(node.op, HasInnerGraph):
        if node.op not in clone_d:
            clone_d[node.op] = node.op.clone()
        new.op = clone_d[node.op]
    clone_d[node] = new
    for old_out, new_out in zip(node.outputs, new.outputs, strict=True):
        clone_d.setdefault(old_out, new_out)
    return new


def clone(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool | None = None,
    clone_inner_graphs: bool | None = None,
) -> tuple[list[Variable], list[Variable]]:
    """Return copies of inputs and outputs of a graph.

    Parameters
    ----------
    inputs, outputs, copy_inputs, clone_inner_graphs
        As for `clone_get_equiv`.
    copy_orphans
        As for `clone_get_equiv`; as `copy_inputs` if None.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> (copied,), (result,) = clone([x], [tt.exp(x)])
    >>> copied is x, copied.name, tt.pprint(result)
    (False, 'x', 'exp(x)')
    """
    orphans = copy_inputs if copy_orphans is None else copy_orphans
    ins, outs = listed("input", inputs), listed("output", outputs)
    equiv = clone_get_equiv(ins, outs, copy_inputs, orphans, clone_inner_graphs=clone_inner_graphs)
    _carry(equiv, [*ins, *(v for v in equiv if isinstance(v, Variable) and v.owner is None)])
    return [equiv[v] for v in ins], [equiv[v] for v in outs]


def replacement_pairs(what: str, replace: object, *, takes_values: bool = True) -> list[tuple[Variable, Variable]]:
    """Return replacements as pairs of an old and a new variable.

    Where values are taken in place of new variables, they are constants of the old variables' types.
    """
    items = () if replace is None else replace.items() if isinstance(replace, Mapping) else replace
    # A variable can be indexed without end.
    items = None if isinstance(items, Variable) else as_list(items)
    if items is None:
        msg = (
            f"{what}: pairs of an old and a new variable are needed, got {text_of(replace)}. Pass a dict or such pairs."
        )
        raise GraphTypeError(msg)
    pairs = []
    for pair in items:
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], Variable)
        if not is_pair or not (takes_values or isinstance(pair[1], Variable)):
            msg = f"{what}: pairs (old variable, new variable) are needed, got {text_of(pair)}. Pass such pairs."
            raise GraphTypeError(msg)
        old, new = pair
        pairs.append((old, new if isinstance(new, Variable) else _constant(what, old, new)))
    return pairs


def _constant(what: str, old: Variable, value: object) -> Variable:
    kind = old.type
    try:
        data = kind.filter(value)
    except (TypeError, ValueError) as error:
        msg = f"{what}: {old} is to be replaced by {text_of(value)}, which is no variable and no value for it: {error}"
        raise GraphTypeError(msg) from error
    return kind.make_constant(kind.copy_value(data) if kind.may_share_memory(data, value) else data)


def _carry(equiv: Equivalence, replaced: Iterable[Variable]) -> None:
    """Note for copies what their originals were written with."""
    copies = [(old, new) for old, new in equiv.items() if isinstance(old, Variable)]
    carry_origins(copies, {var: equiv[var] for var in replaced if equiv[var] is not var})


@overload
def clone_replace(
    output: Variable,
    replace: Replacements | None = None,
    *,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    clone_inner_graphs: bool = False,
) -> Variable: ...


@overload
def clone_replace(
    output: Sequence[Variable],
    replace: Replacements | None = None,
    *,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    clone_inner_graphs: bool = False,
) -> list[Variable]: ...


def clone_replace(
    output: Variable | Sequence[Variable],
    replace: Replacements | None = None,
    *,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    clone_inner_graphs: bool = False,
) -> Variable | list[Variable]:
    """Return copies of the outputs in which variables are replaced; replacements are not searched themselves.

    Parameters
    ----------
    output
        One variable, or a sequence.
    replace
        Pairs of an old variable and its replacement in the copy: a variable, or a value of its type.
    rebuild_strict
        True: a replacement must keep (or refine, or losslessly convert to) the type. False: nodes are rebuilt with
        whatever type it has, so that result types may change.
    copy_inputs_over
        True keeps inputs that are not replaced; False makes new ones.
    clone_inner_graphs
        Whether ops with an inner graph are copied too.

    Returns
    -------
    A variable, or a list of variables.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> tt.pprint(clone_replace(tt.exp(x) + y, {x: 2 * y}))
    'exp(2.0 * y) + y'
    """
    outs = [output] if isinstance(output, Variable) else listed("output", output)
    memo: Equivalence = {}
    rebuild_strict = as_flag("clone_replace: rebuild_strict", rebuild_strict)
    for old, new in replacement_pairs("clone_replace", replace):
        memo[old] = old.type.filter_variable(new) if rebuild_strict else new
    replaced = list(memo)
    equiv = clone_get_equiv(
        [],
        outs,
        copy_orphans=not as_flag("clone_replace: copy_inputs_over", copy_inputs_over),
        memo=memo,
        clone_inner_graphs=clone_inner_graphs,
        strict=rebuild_strict,
    )
    _carry(equiv, replaced)
    result = [equiv[v] for v in outs]
    return result[0] if isinstance(output, Variable) else result


@overload
def graph_replace(outputs: Variable, replace: Replacements | None = None, *, strict: bool = True) -> Variable: ...


@overload
def graph_replace(
    outputs: Sequence[Variable], replace: Replacements | None = None, *, strict: bool = True
) -> list[Variable]: ...


def graph_replace(
    outputs: Variable | Sequence[Variable], replace: Replacements | None = None, *, strict: bool = True
) -> Variable | list[Variable]:
    """Return the outputs with variables replaced, copying only the nodes that depend on a replaced one.

    A variable that an output was written with and that is left of it no more, as in ``grad(a * b, a)``, may be replaced
    too.

    Parameters
    ----------
    outputs
        One variable, or a sequence.
    replace
        Pairs of an old variable, an input or a computed one, and what takes its place: a variable, or a value of its
        type. Replacements apply at once, not one after the other, and are not searched themselves.
    strict
        Whether each replaced variable must occur in the graph.

    Raises
    ------
    GraphValueError
        If `strict` and a variable to replace does not occur.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> middle = x * y
    >>> tt.pprint(graph_replace(tt.exp(middle), {middle: y}))
    'exp(y)'
    """
    outs = [outputs] if isinstance(outputs, Variable) else listed("output", outputs)
    replaced: dict[Variable, Variable] = dict(replacement_pairs("graph_replace", replace))
    equiv = dict(replaced)
    if as_flag("graph_replace: strict", strict):
        _check_all_occur(outs, equiv)
    for node in toposort(outs, list(equiv)):
        new_inputs = [equiv.get(v, v) for v in node.inputs]
        unchanged = all(a is b for a, b in zip(new_inputs, node.inputs, strict=True))
        if unchanged and not any(was_written_with(out, replaced) for out in node.outputs):
            continue
        new = node.clone_with_new_inputs(new_inputs)
        for old_out, new_out in zip(node.outputs, new.outputs, strict=True):
            equiv.setdefault(old_out, new_out)
    carry_origins(equiv.items(), replaced)
    result = [equiv.get(v, v) for v in outs]
    return result[0] if isinstance(outputs, Variable) else result


def _check_all_occur(outs: Iterable[Variable], replaced: Iterable[Variable]) -> None:
    missing = dict.fromkeys(replaced)
    for var in vars_between((), outs) if missing else ():
        missing.pop(var, None)
    for var in origins(outs) if missing else ():
        missing.pop(var, None)
    if missing:
        names = ", ".join(sorted(map(str, missing)))
        msg = f"graph_replace: {names} does not occur in the graph. Leave it out, or pass strict=False."
        raise GraphValueError(msg)
