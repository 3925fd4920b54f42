"""Functions of generated code that rules of other packages bring."""

import pytest

from treadle.graph import DuplicateRegistrationError
from treadle.link.numba.text.library import Library


def test_functions_of_another_package_are_found() -> None:
    library = Library()
    library.add("def weft(x):  # f8\n    return x\n\ndef warp(x):  # f8\n    return weft(x)\n")
    (unit,) = library.used_by("warp(2.0)")
    assert (unit.name, unit.signature, [inner.name for inner in unit.uses]) == ("warp", ("f8",), ["weft"])


@pytest.mark.parametrize("name", ["joined", "weft"])
def test_another_function_of_a_name_is_refused_and_the_same_is_not(name: str) -> None:
    library = Library()
    for _ in range(2):
        library.add("def weft(x):  # f8\n    return x\n")
    with pytest.raises(DuplicateRegistrationError, match=f"another function {name} of generated code"):
        library.add(f"def {name}(x):  # f8\n    return x + x\n")
