"""treadle.tensor.random: random variables, and the generators that they draw from."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names, package_folders
from treadle.tensor.lazy import RANDOM_MODULES

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
    from treadle.tensor.random.generators.seeding import *  # noqa: F403
    from treadle.tensor.loops.states import *  # noqa: F403
    from treadle.tensor.random.generators.stream import *  # noqa: F403
    from treadle.tensor.random.generators.types import *  # noqa: F403
    from treadle.tensor.random.op import *  # noqa: F403
    from treadle.tensor.random.parameters import *  # noqa: F403
    from treadle.tensor.random.scipy_variable import *  # noqa: F403
    from treadle.tensor.random.size import *  # noqa: F403
else:
    __getattr__ = lazy_names(__name__, RANDOM_MODULES)

# Other distributions may bring modules of the package.
__path__ = package_folders(__name__)
