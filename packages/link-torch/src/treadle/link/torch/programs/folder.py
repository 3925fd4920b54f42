"""Where PyTorch's compiler keeps what it makes: in the compile directory, while it compiles for us."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from treadle.cache import default_cache

_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"
NAME = "inductor"


@contextmanager
def inductor_folder() -> Iterator[None]:
    """Let Inductor use a folder in the compile directory, unless the user named one in the environment.

    The variable is the whole process's: whoever enters holds the lock of PyTorch's compiler.
    """
    # As torch.compile itself: importing it takes seconds, and no program is compiled before it is called.
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    before = os.environ.get(_VARIABLE)
    cache = default_cache()
    default = os.path.abspath(default_cache_dir())  # noqa: PTH100 - compared with what PyTorch itself puts there
    folder = cache.guest(NAME) if before in {None, default} else None
    if folder is None:
        yield
        return
    os.environ[_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before
