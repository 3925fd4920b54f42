"""The rule sets of `treadle.tensor`: its own, and those of the distributions that bring rooms of it."""

from tools import names
from treadle.config import discover

_OWN = ("tensor", *(table.parts[1] for table in names.BROUGHT))
_PUBLISHED = discover("treadle.rules").values()
RULE_SETS = tuple(rules for own in _OWN for entry in _PUBLISHED if entry.distribution == own for rules in entry.load())
