"""treadle.rewrite: rules, the database that finds them by tag, and the engine that applies them to graphs."""

from treadle.rewrite.builtin import Equals, Refinements, feature_of, fold
from treadle.rewrite.database import RewriteDatabase, default_database, rewrite_graph
from treadle.rewrite.errors import RewriteError, RewriteWarning, RuleDefinitionError, UnknownTagError
from treadle.rewrite.pattern import Law, Pattern, same_number
from treadle.rewrite.phase import DOCUMENTED_TAGS, Phase
from treadle.rewrite.query import RewriteDatabaseQuery, as_query
from treadle.rewrite.report import Firing, Report, RuleCost
from treadle.rewrite.rewriter import Rewriter, Stage
from treadle.rewrite.rules import GraphPass, Rule, RuleSet

__all__ = [
    "DOCUMENTED_TAGS",
    "Equals",
    "Firing",
    "GraphPass",
    "Law",
    "Pattern",
    "Phase",
    "Refinements",
    "Report",
    "RewriteDatabase",
    "RewriteDatabaseQuery",
    "RewriteError",
    "RewriteWarning",
    "Rewriter",
    "Rule",
    "RuleCost",
    "RuleDefinitionError",
    "RuleSet",
    "Stage",
    "UnknownTagError",
    "as_query",
    "default_database",
    "feature_of",
    "fold",
    "rewrite_graph",
    "same_number",
]
