"""Options that treadle.graph and treadle.link.vm read."""

from __future__ import annotations

from treadle.config import BOOL, INT, OPTIONAL_BOOL, Option, choice

OPTIONS: tuple[Option[object], ...] = (
    Option("allow_gc", True, "Free intermediate results as soon as nothing needs them any more.", BOOL),
    Option(
        "compute_test_value",
        "off",
        "Run each op on tag.test_value while the graph is built; what to do where an input has none: leave the result "
        "out (ignore), warn, raise, or start the debugger (pdb).",
        choice("off", "ignore", "warn", "raise", "pdb"),
        affects_code=False,
    ),
    Option(
        "print_test_value",
        False,
        "Show the test value of a variable, where it has one, when the variable is printed.",
        BOOL,
        affects_code=False,
    ),
    Option(
        "exception_verbosity",
        "low",
        "What the error of a node that fails tells: op, line and shapes (low); the types of the inputs, strides and "
        "small values too (medium); and the graph that leads to it (high).",
        choice("low", "medium", "high"),
        affects_code=False,
    ),
    Option(
        "traceback__limit",
        8,
        "Frames kept in tag.trace of what an op makes, the user's line first; -1 keeps all.",
        INT.where("an integer >= -1", lambda value: value >= -1),
        affects_code=False,
    ),
    Option(
        "traceback__compile_limit",
        0,
        "Frames kept in tag.trace of what rewrites make while a function is compiled, treadle's own included, after "
        "the line of what they replace; -1 keeps all.",
        INT.where("an integer >= -1", lambda value: value >= -1),
        affects_code=False,
    ),
    Option(
        "vm__lazy",
        None,
        "Whether the Python VM computes a branch only where it is chosen (True), or both (False); None leaves it to "
        "the VM, which computes the branch that is chosen.",
        OPTIONAL_BOOL,
    ),
    Option(
        "on_python_step",
        "warn",
        "What backends that compile whole graphs do with a user's own op that has no rule there: run it in Python "
        "between compiled parts, with a warning that names it (warn) or without one (ignore), or refuse it (raise).",
        choice("warn", "raise", "ignore"),
    ),
    Option(
        "on_wrong_length",
        "raise",
        "What compiled parts do with an array of other lengths than the type of its variable says, from an op that "
        "runs in Python between them: refuse it, if they look at its shape (raise), or take it as it is, with a "
        "warning that names the op (warn) or without one (ignore).",
        choice("raise", "warn", "ignore"),
    ),
    Option(
        "less_known_replacements",
        "refuse",
        "What happens where a variable is to be replaced by one of the same kind of which fewer lengths are known: it "
        "is an error (refuse), or the lengths are checked when the program runs (check).",
        choice("refuse", "check"),
    ),
    Option(
        "toposort_from",
        "first",
        "Where orders of nodes begin, with what each needs before it: at the first output and the first input of each "
        "node (first; graphs that are changed keep the order that they have, as far as they can), or at the last ones "
        "(last).",
        choice("first", "last"),
    ),
)
