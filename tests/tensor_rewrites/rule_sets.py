"""The rule sets of `treadle.tensor`: its own, and those of the distributions that bring rooms of it."""

from tools import names
from treadle.config import discover

_PUBLISHED = discover("treadle.rules")
_OWN = ("tensor", *(table.parts[1] for table in names.BROUGHT))
RULE_SETS = tuple(rules for name in _OWN if name in _PUBLISHED for rules in _PUBLISHED[name].load())
