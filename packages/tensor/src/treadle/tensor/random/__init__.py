"""treadle.tensor.random: random variables, and the generators that they draw from."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names, package_folders
from treadle.tensor.lazy import RANDOM_MODULES

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.random.bounded import *  # noqa: F403
    from treadle.tensor.random.categories import *  # noqa: F403
    from treadle.tensor.random.consumer import *  # noqa: F403
    from treadle.tensor.random.continuous import *  # noqa: F403
    from treadle.tensor.random.counts import *  # noqa: F403
    from treadle.tensor.random.discrete import *  # noqa: F403
    from treadle.tensor.random.gamma_family import *  # noqa: F403
    from treadle.tensor.random.matrices import *  # noqa: F403
    from treadle.tensor.random.multivariate import *  # noqa: F403
    from treadle.tensor.random.op import *  # noqa: F403
    from treadle.tensor.random.parameters import *  # noqa: F403
    from treadle.tensor.random.permutations import *  # noqa: F403
    from treadle.tensor.random.portable import *  # noqa: F403
    from treadle.tensor.random.portable_keys import *  # noqa: F403
    from treadle.tensor.random.positive import *  # noqa: F403
    from treadle.tensor.random.scipy_variable import *  # noqa: F403
    from treadle.tensor.random.seeding import *  # noqa: F403
    from treadle.tensor.random.size import *  # noqa: F403
    from treadle.tensor.random.skewed import *  # noqa: F403
    from treadle.tensor.random.states import *  # noqa: F403
    from treadle.tensor.random.stream import *  # noqa: F403
    from treadle.tensor.random.types import *  # noqa: F403
else:
    __getattr__ = lazy_names(__name__, RANDOM_MODULES)

# Other distributions may bring modules of the package.
__path__ = package_folders(__name__)
