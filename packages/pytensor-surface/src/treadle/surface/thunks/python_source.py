"""Source text for other compilers: a graph as one Python function over the values of its inputs."""

from __future__ import annotations

import keyword
import linecache
import re
from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, GraphTypeError, GraphValueError, Op, Variable
from treadle.surface.thunks.containers import fixed_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from treadle.graph import Compute, FunctionGraph
    from treadle.surface.thunks.containers import StorageMap

_NO_LETTERS = re.compile(r"\W")


def get_name_for_object(x: object) -> str:
    """Return a name for an object that Python takes: from its name, its op or its class, in that order.

    >>> get_name_for_object(3)
    'int'
    """
    if isinstance(x, Variable):
        name = x.name or "variable"
    elif isinstance(x, Apply):
        name = type(x.op).__name__
    elif isinstance(x, Op):
        name = type(x).__name__
    else:
        name = getattr(x, "__name__", None) or type(x).__name__
    name = _NO_LETTERS.sub("_", name)
    if not name or name[0].isdigit() or keyword.iskeyword(name):
        name = f"_{name}"
    return name.replace("<lambda>", "lambda")


def unique_name_generator(external_names: Collection[str] = (), suffix_sep: str = "") -> Callable[..., str]:
    """Return a function ``unique_name(x, force_unique=False)``: a name for each object, no two the same.

    Parameters
    ----------
    external_names
        Names that are taken.
    suffix_sep
        What stands between a name and the number that makes it unique.

    Examples
    --------
    >>> unique_name = unique_name_generator(["int"], "_")
    >>> unique_name(3)
    'int_1'
    """
    names: dict[int, str] = {}
    named_objects: list[object] = []  # an id is an object's own only while the object lives
    used = set(external_names)
    counts: dict[str, int] = {}

    def unique_name(x: object, force_unique: bool = False) -> str:
        if not force_unique and id(x) in names:
            return names[id(x)]
        stem = get_name_for_object(x)
        name = stem
        while name in used:
            counts[stem] = counts.get(stem, 0) + 1
            name = f"{stem}{suffix_sep}{counts[stem]}"
        used.add(name)
        named_objects.append(x)
        names.setdefault(id(x), name)
        return name

    return unique_name


def compile_function_src(
    src: str,
    function_name: str,
    global_env: dict[str, object] | None = None,
    local_env: dict[str, object] | None = None,
) -> Compute:
    """Return the function that a source text defines; tracebacks show its lines.

    Parameters
    ----------
    src
        The text.
    function_name
        Name of the function in it.
    global_env, local_env
        Names that the text may use; the function is put into `local_env`.

    Raises
    ------
    GraphValueError
        If the text does not define the function.
    """
    file = f"<treadle source {function_name} {abs(hash(src))}>"
    scope = {} if global_env is None else global_env
    names = scope if local_env is None else local_env
    exec(compile(src, file, "exec"), scope, names)
    defined: Any = names.get(function_name)
    if not callable(defined):
        msg = f"compile_function_src: the text defines no function {function_name!r}. Name one that it defines."
        raise GraphValueError(msg)
    linecache.cache[file] = (len(src), None, src.splitlines(keepends=True), file)
    defined.__source__ = src  # where the documentation has it
    function: Compute = defined
    return function


def fgraph_to_python(
    fgraph: FunctionGraph,
    op_conversion_fn: Callable[..., Callable[..., object]],
    *,
    type_conversion_fn: Callable[..., object] | None = None,
    order: Sequence[Apply] | None = None,
    storage_map: StorageMap | None = None,
    fgraph_name: str = "fgraph_to_python",
    global_env: dict[str, object] | None = None,
    local_env: dict[str, object] | None = None,
    squeeze_output: bool = False,
    unique_name: Callable[..., str] | None = None,
    **kwargs: object,
) -> Compute:
    """Return a Python function that computes the outputs of a graph with other functions, one for each node.

    Parameters
    ----------
    fgraph
        The graph.
    op_conversion_fn
        ``op_conversion_fn(op, node=node, **kwargs)`` returns a function of the values of the node's inputs.
    type_conversion_fn
        ``type_conversion_fn(value, variable=variable, storage_map=storage_map, **kwargs)`` returns a fixed value in the
        compiler's form; values are used as they are if None.
    order
        The nodes in order; `FunctionGraph.toposort` if None.
    storage_map
        Where the values of constants and shared variables may be kept; they are taken from there if they are.
    fgraph_name
        Name of the function.
    global_env, local_env
        Names that the text may use.
    squeeze_output
        Whether the value of a single output is returned by itself, not in a tuple.
    unique_name
        Names objects, as what `unique_name_generator` returns does.
    kwargs
        For the conversion functions.

    Raises
    ------
    GraphTypeError
        If `op_conversion_fn` does not return a function.
    """
    naming = unique_name_generator((fgraph_name,), "_") if unique_name is None else unique_name
    scope: dict[str, object] = {} if global_env is None else global_env
    inputs = set(fgraph.inputs)
    nodes = fgraph.toposort() if order is None else order
    computed: set[Variable] = set()

    def text(var: Variable) -> str:
        name = naming(var)
        if var not in inputs and var not in computed and name not in scope:
            has_value = storage_map is not None and var in storage_map and storage_map[var][0] is not None
            value = storage_map[var][0] if has_value and storage_map is not None else fixed_value(var)
            if type_conversion_fn is not None:
                value = type_conversion_fn(value, variable=var, storage_map=storage_map, **kwargs)
            scope[name] = value
        return name

    arguments = [naming(var) for var in fgraph.inputs]
    lines = [f"def {fgraph_name}({', '.join(arguments)}):"]
    for node in nodes:
        convert: object = op_conversion_fn(node.op, node=node, **kwargs)
        if not callable(convert):
            msg = f"fgraph_to_python: op_conversion_fn must return a function for {node.op}, got {convert!r}."
            raise GraphTypeError(msg)
        name = naming(convert, force_unique=True)
        scope[name] = convert
        values = [text(var) for var in node.inputs]
        computed.update(node.outputs)
        targets = [naming(var) for var in node.outputs]
        lines.append(
            f"    {_tuple(targets, bare_single=True)} = {name}({', '.join(values)})  # {' '.join(str(node.op).split())}"
        )
    results = [text(var) for var in fgraph.outputs]
    lines.append(f"    return {_tuple(results, bare_single=squeeze_output)}")
    return compile_function_src("\n".join(lines) + "\n", fgraph_name, scope, local_env)


def _tuple(names: Sequence[str], *, bare_single: bool) -> str:
    if len(names) == 1:
        return names[0] if bare_single else f"({names[0]},)"
    return f"({', '.join(names)})"
