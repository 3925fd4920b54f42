"""function: from expressions to a callable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.compile.errors import FunctionTypeError
from treadle.compile.functions.specification import specify
from treadle.compile.io import In, Out
from treadle.compile.mode.mode import get_mode
from treadle.compile.upward import upward
from treadle.config import COLLECTOR, frozen, text_of
from treadle.graph import Variable, as_flag

if TYPE_CHECKING:
    from treadle.compile.functions.function import Function
    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.mode.mode import Mode


def _check_name(name: object) -> None:
    if name is not None and not isinstance(name, str):
        msg = f"function: the name must be a string, got {text_of(name)}. Pass name='...' or leave it out."
        raise FunctionTypeError(msg)


def function(
    inputs: object,
    outputs: object = None,
    mode: Mode | str | None = None,
    updates: Any = None,
    givens: object = None,
    no_default_updates: object = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: object = None,
    on_unused_input: str | None = None,
    trust_input: bool = False,
    tiered: bool | None = None,
) -> Function:
    """Compile expressions into a callable.

    Parameters
    ----------
    inputs
        List of variables, or of `In` with defaults and more. An item may be a tree of them: variables in dictionaries,
        tuples, lists, named tuples and dataclasses, nested as you like (see `treadle.graph.tree_flatten`). A call takes
        a tree of values of the same form there.
    outputs
        A variable or `Out` (the call returns its value), a list of them (it returns a list), a dict (a dict), or
        None (an empty list). An item of a list or dict may be a tree, and so may be the whole, such as a dataclass:
        the call returns values in the same form.
    mode
        A mode or its name: ``FAST_RUN``, ``FAST_COMPILE``, or that of an installed backend such as ``VM``, ``C``,
        ``NUMBA``, ``JAX``, ``PYTORCH``. The default mode if None.
    updates
        Pairs (shared variable, expression of its new value), as a list or a dict. After each call the new values
        take the places of the old ones; outputs are computed from the old ones.
    givens
        Pairs (variable, replacement), as a list or a dict, independent of each other. A plain value becomes a constant.
    no_default_updates
        True: default updates of shared variables are left out; a list: those of the listed ones.
    accept_inplace
        Whether the expressions may hold ops that overwrite their inputs. They then overwrite copies of arguments.
    name
        Shown in messages and profiles.
    rebuild_strict
        Whether replacements must keep the type. If not, types of results may change.
    allow_input_downcast
        True: arguments may lose precision. False: never. None: only Python floats, to floatX.
    profile
        True, a ProfileStats or a message to print with it: what compilation and calls cost is recorded, in
        ``f.profile``. False: nothing is. None: as the options ``profile`` and ``print_global_stats`` say.
    on_unused_input
        ``raise``, ``warn`` or ``ignore``; option ``on_unused_input`` if None.
    trust_input
        Whether to call without checking arguments, which must then be exactly of the inputs' types.
    tiered
        Whether to return at once, with a function that runs on the Python VM, compile in the background, and let calls
        run what was compiled when it is ready (`Function.wait`, `Function.tier`). What is in the compile cache is used
        at once. As the mode says if None, or else the option ``tiered``.

    Returns
    -------
    The compiled function; a `NestedFunction` where inputs or outputs are nested.

    Raises
    ------
    FunctionTypeError, FunctionValueError
        If arguments are of a wrong kind or contradict each other; so do `tiered` and a mode that checks every node.
    MissingInputError
        If an output needs a variable that is not among the inputs.
    UnusedInputError
        If an input is not used and `on_unused_input` is ``raise``, or is given twice.
    MissingBackendError
        If no installed backend has the mode's name.
    LoweringError
        If the backend lacks a lowering for an op; all such ops are listed.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> x = tt.dscalar("x")
    >>> float(function([x], 2 * x, mode="VM")(4))
    8.0
    >>> params = {"w": tt.dvector("w"), "b": tt.dscalar("b")}
    >>> cost = (params["w"] ** 2).sum() * params["b"]
    >>> function([params], tt.grad(cost, params), mode="VM")({"w": [1.0, 2.0], "b": 3.0})
    {'w': array([ 6., 12.]), 'b': array(5.)}
    """
    _check_name(name)
    nesting = None
    if not (_is_flat(inputs) and (isinstance(outputs, Variable) or outputs is None or _is_flat(outputs))):
        inputs, outputs, nesting = upward.read_nesting(inputs, outputs)
    with frozen(), COLLECTOR.paused():
        chosen = get_mode(mode)
        specification = specify(
            inputs, outputs, updates, givens, no_default_updates, rebuild_strict, on_unused_input, allow_input_downcast
        )
        maker: FunctionMaker = chosen.function_maker(
            specification,
            mode=chosen,
            accept_inplace=accept_inplace,
            profile=profile,
            name=name,
            trust_input=trust_input,
        )
        if tiered is not None:
            # Not all classes of makers take it: those of the user's may be older.
            maker.tiered = as_flag("function: tiered", tiered)
        made = maker.create()
    return made if nesting is None else upward.NestedFunction(made, nesting)


def _is_flat(items: object) -> bool:
    """Whether inputs or outputs are plainly not nested."""
    return isinstance(items, list | tuple) and all(isinstance(item, Variable | In | Out) for item in items)
