"""The public names of `treadle.sparse` are those of its modules, each once."""

from importlib import import_module

import treadle.sparse as ts
from treadle.sparse.names import NAMES

# Names that modules share among each other, and that are no functions for users.
PRIVATE = {
    *("as_dense", "compressed_from_dense", "Compressed", "compressed", "elements_at", "same_variable"),
}


def test_table_has_the_names_that_modules_export() -> None:
    for module, names in NAMES.items():
        exported = set(import_module(module).__all__)
        assert set(names.split()) == exported - PRIVATE, module


def test_every_name_is_there() -> None:
    names = [name for listed in NAMES.values() for name in listed.split()]
    assert len(names) == len(set(names))
    assert all(getattr(ts, name) is not None for name in names)
    assert set(names) <= set(dir(ts))
