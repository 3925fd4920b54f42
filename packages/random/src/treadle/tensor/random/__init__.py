"""treadle.tensor.random: random variables, and the generators that they draw from.

`distributions` has them by subject, `generators` what they draw from, `methods` what generators have as methods;
`rules` are rewrite rules, `lower` has what backends make of draws, `records` what these are checked by. The room may
import every room of `treadle.tensor`, and linear algebra; only entry points know of it.
"""

from typing import TYPE_CHECKING

from treadle.config import lazy_names, package_folders
from treadle.tensor.lazy import hint_below

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.random.consumer import *  # noqa: F403
    from treadle.tensor.random.distributions.bounded import *  # noqa: F403
    from treadle.tensor.random.distributions.categories import *  # noqa: F403
    from treadle.tensor.random.distributions.continuous import *  # noqa: F403
    from treadle.tensor.random.distributions.counts import *  # noqa: F403
    from treadle.tensor.random.distributions.discrete import *  # noqa: F403
    from treadle.tensor.random.distributions.gamma_family import *  # noqa: F403
    from treadle.tensor.random.distributions.matrices import *  # noqa: F403
    from treadle.tensor.random.distributions.multivariate import *  # noqa: F403
    from treadle.tensor.random.distributions.permutations import *  # noqa: F403
    from treadle.tensor.random.distributions.positive import *  # noqa: F403
    from treadle.tensor.random.distributions.skewed import *  # noqa: F403
    from treadle.tensor.random.generators.portable import *  # noqa: F403
    from treadle.tensor.random.generators.portable_keys import *  # noqa: F403
    from treadle.tensor.random.generators.sampler_table import *  # noqa: F403
    from treadle.tensor.random.generators.samplers import *  # noqa: F403
    from treadle.tensor.random.generators.seeding import *  # noqa: F403
    from treadle.tensor.random.generators.states import *  # noqa: F403
    from treadle.tensor.random.generators.stream import *  # noqa: F403
    from treadle.tensor.random.generators.types import *  # noqa: F403
    from treadle.tensor.random.op import *  # noqa: F403
    from treadle.tensor.random.parameters import *  # noqa: F403
    from treadle.tensor.random.scipy_variable import *  # noqa: F403
    from treadle.tensor.random.size import *  # noqa: F403
else:
    # Documented modules, of which other distributions bring some, are found as attributes.
    _PATHS = ("basic", "type", "utils", "var", "variable")
    __getattr__ = lazy_names(__name__, {f"{__name__}.{path}": path for path in _PATHS}, hint_below("random"))

# Other distributions may bring modules of the package.
__path__ = package_folders(__name__)
