"""treadle.rewrite: rules, the databases that find them by tag, and the engine that applies them to graphs."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.rewrite.builtin import fold
from treadle.rewrite.compound import EquilibriumGraphRewriter, SequentialGraphRewriter
from treadle.rewrite.containers import EquilibriumDB, SequenceDB
from treadle.rewrite.database import RewriteDatabase
from treadle.rewrite.default import DefaultDatabase, PhasedDatabase, default_database, optdb
from treadle.rewrite.engine.interface import GraphRewriter, NodeRewriter, Rewriter, looks_at
from treadle.rewrite.engine.merging import MergeFeature, MergeOptimizer
from treadle.rewrite.engine.report import Change, Firing, Report, RuleCost
from treadle.rewrite.engine.run import Run, current_run, feature_of
from treadle.rewrite.engine.tracked import OpClass, OpPattern
from treadle.rewrite.errors import (
    AmbiguousTagError,
    MissingTraceError,
    RewriteError,
    RewriterTypeError,
    RewriteWarning,
    RuleDefinitionError,
    RuleFaultError,
    UnknownTagError,
)
from treadle.rewrite.graphs import rewrite_graph
from treadle.rewrite.inner import rewrite_inner_graphs
from treadle.rewrite.inplace import IN_PLACE, overwrite
from treadle.rewrite.pattern import Law, Pattern, same_number
from treadle.rewrite.phase import Phase
from treadle.rewrite.query import RewriteDatabaseQuery, as_query
from treadle.rewrite.rules import GraphPass, Rule, RuleSet
from treadle.rewrite.tags import DOCUMENTED_TAGS

__all__ = [
    "DOCUMENTED_TAGS", "IN_PLACE", "AmbiguousTagError", "Change", "DefaultDatabase", "EquilibriumDB",
    "EquilibriumGraphRewriter", "Explanation", "Firing", "GraphPass", "GraphRewriter", "Law", "MergeFeature",
    "MergeOptimizer", "MissingTraceError", "NodeRewriter", "OpClass", "OpPattern", "Pattern", "Phase",
    "PhasedDatabase", "Report",
    "RewriteDatabase", "RewriteDatabaseQuery", "RewriteError", "RewriteWarning", "Rewriter", "RewriterTypeError",
    "Rule", "RuleCard", "RuleCost", "RuleDefinitionError", "RuleFaultError", "RuleSet", "Run", "SequenceDB",
    "SequentialGraphRewriter", "UnknownTagError", "as_query", "comparison_page", "current_run", "default_database",
    "feature_of", "fold", "looks_at", "optdb", "overwrite", "rewrite_graph", "rewrite_inner_graphs", "rules_for",
    "same_number", "show_rewrites", "steps_page", "why_not",
]  # fmt: skip

if TYPE_CHECKING:
    from treadle.rewrite.explanation import Explanation, RuleCard, comparison_page, rules_for, show_rewrites, why_not
    from treadle.rewrite.steps import steps_page

    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "rewrite",
        {
            "treadle.rewrite.explanation": "Explanation RuleCard comparison_page rules_for show_rewrites why_not",
            "treadle.rewrite.steps": "steps_page",
        },
    )
