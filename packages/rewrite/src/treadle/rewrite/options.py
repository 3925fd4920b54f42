"""Options that treadle.rewrite reads."""

from __future__ import annotations

from treadle.config import BOOL, FLOAT, STR, Option, choice

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "on_opt_error",
        "warn",
        "What to do when a rewrite rule fails: warn and skip it, raise, start the debugger, or skip it silently.",
        choice("warn", "raise", "pdb", "ignore"),
        affects_code=False,
    ),
    Option(
        "check_stack_trace",
        "off",
        "What to do about a rewrite whose result does not know the user's line: nothing, put the rewrite's name in its "
        "place (log), warn as well, or raise.",
        choice("off", "log", "warn", "raise"),
        affects_code=False,
    ),
    Option(
        "compute_test_value_opt",
        "off",
        "Run what rewrites make on test values; what to do where an input has none, as for compute_test_value.",
        choice("off", "ignore", "warn", "raise", "pdb"),
        affects_code=False,
    ),
    Option(
        "cycle_detection",
        "regular",
        "How a rewrite that works in place is kept from making a cycle: regular allows more of them, fast compiles "
        "faster.",
        choice("regular", "fast"),
    ),
    Option(
        "optimizer_verbose", False, "Print each rewrite that is applied to standard output.", BOOL, affects_code=False
    ),
    Option(
        "optimizer_verbose_ignore",
        "",
        "Names of rewrites that optimizer_verbose leaves out, separated by commas.",
        STR,
        affects_code=False,
    ),
    Option("optdb__position_cutoff", float("inf"), "Rewrites at this position or a later one are left out.", FLOAT),
    Option(
        "optdb__max_use_ratio",
        8.0,
        "How often one rewrite may apply, for each node of the graph, before it counts as one that never ends.",
        FLOAT,
    ),
    Option(
        "rewrite__unknown_names",
        "raise",
        "What to do about a query that names a rule or tag which nothing carries: raise, warn, or ignore the name.",
        choice("raise", "warn", "ignore"),
        affects_code=False,
    ),
    Option(
        "profile_optimizer",
        False,
        "Print what each rewrite cost, once a graph is rewritten: time, tries, changes, new nodes, checks.",
        BOOL,
        affects_code=False,
    ),
)
