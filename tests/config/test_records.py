"""Classes made by `treadle.config.dataclass` do what the standard library's do."""

import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any, ClassVar

import pytest

from treadle.config import dataclass

BOTH = pytest.mark.parametrize("make", [dataclasses.dataclass, dataclass], ids=["standard", "own"])
ASKED = pytest.mark.parametrize(
    "asked",
    [
        {},
        {"frozen": True},
        {"slots": True},
        {"frozen": True, "slots": True},
        {"frozen": True, "slots": True, "kw_only": True},
        {"eq": False},
        {"frozen": True, "eq": False, "repr": False},
    ],
    ids=str,
)


def made(make: Any, **asked: bool) -> Any:
    class Thing:
        """A thing."""

        kinds: ClassVar[int] = 3
        name: str
        size: int = 2
        parts: list[int] = field(default_factory=list)
        hidden: str = field(default="h", repr=False, compare=False)
        given: int = field(default=7, init=False)
        last: int = field(default=9, kw_only=True)

    return make(**asked)(Thing)


@ASKED
def test_equals_standard_class(asked: dict[str, bool]) -> None:
    standard, own = made(dataclasses.dataclass, **asked), made(dataclass, **asked)
    classes: tuple[Any, Any] = standard, own
    assert str(inspect.signature(own)) == str(inspect.signature(standard))
    is_known: bool = dataclasses.is_dataclass(own)
    assert is_known
    assert [f.name for f in dataclasses.fields(own)] == [f.name for f in dataclasses.fields(standard)]
    assert own.__match_args__ == standard.__match_args__
    assert own.kinds == 3
    assert own.__doc__ == "A thing."
    assert (own.__hash__ is None) == (standard.__hash__ is None)
    shown = []
    for cls in classes:
        a, b = cls(name="a", parts=[1]), cls(name="a", parts=[1], hidden="other")
        c = dataclasses.replace(a, size=4)
        assert (a.given, c.size, c.parts, cls(name="b").parts, c.last) == (7, 4, [1], [], 9)
        assert (a == b) is asked.get("eq", True)
        assert a != c
        assert a != "a"
        assert hasattr(a, "__dict__") is not asked.get("slots", False)
        if asked.get("repr", True):
            shown.append(repr(a))
        with pytest.raises(TypeError):
            cls(size=1)
        if asked.get("frozen"):
            with pytest.raises(dataclasses.FrozenInstanceError) as assigned:
                a.name = "b"
            with pytest.raises(dataclasses.FrozenInstanceError) as deleted:
                del a.size
            shown += [str(assigned.value), str(deleted.value)]
        else:
            a.name = "b"
            assert a.name == "b"
    assert shown[: len(shown) // 2] == shown[len(shown) // 2 :]


@dataclass(frozen=True, slots=True)
class Point:
    """At module level, so that it can be pickled."""

    x: float
    y: float = 0.0

    def __post_init__(self) -> None:
        if self.x < 0:
            msg = "left of the origin"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Named(Point):
    """Inherits from a frozen class."""

    name: str = ""


def test_pickles_compares_and_hashes_frozen_values() -> None:
    a = Point(1.0, 2.0)
    assert pickle.loads(pickle.dumps(a)) == a
    assert {a, Point(1.0, 2.0)} == {a}
    assert hash(a) == hash((1.0, 2.0))
    with pytest.raises(ValueError, match="left of the origin"):
        Point(-1.0)


def test_methods_are_the_modules_own() -> None:
    assert Point.__init__.__globals__["__name__"] == __name__
    assert (Point.__init__.__module__, Point.__init__.__qualname__) == (__name__, "Point.__init__")


def test_inherits_from_frozen_class() -> None:
    named = Named(1.0, name="n")
    assert repr(named) == "Named(x=1.0, y=0.0, name='n')"
    assert pickle.loads(pickle.dumps(named)) == named
    with pytest.raises(dataclasses.FrozenInstanceError):
        named.x = 3.0  # type: ignore[misc]  # what is refused


@BOTH
def test_keeps_methods_of_the_class(make: Any) -> None:
    @make(frozen=True)
    class Odd:  # noqa: PLW1641 - the hash is made
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Odd) and other.x % 2 == self.x % 2

        def __repr__(self) -> str:
            return "odd"

    @make
    class Counted:
        x: int

        def __hash__(self) -> int:
            return 5

    odd: Any = Odd
    counted: Any = Counted
    assert odd(1) == odd(3)
    assert hash(odd(1)) == hash((1,))
    assert repr(odd(1)) == "odd"
    assert hash(counted(2)) == 5


@BOTH
def test_hashes_the_fields_that_say_so(make: Any) -> None:
    @make(frozen=True)
    class Marked:
        x: int
        y: int = field(hash=False)

    marked: Any = Marked
    assert hash(marked(1, 2)) == hash(marked(1, 3)) == hash((1,))
    assert marked(1, 2) != marked(1, 3)


@BOTH
def test_standard_subclasses_of_frozen_classes(make: Any) -> None:
    @make(frozen=True)
    class Base:
        x: int

    @dataclasses.dataclass(frozen=True)
    class Further(Base):
        y: int = 1

    with pytest.raises(TypeError, match="frozen"):
        dataclasses.dataclass(type("Unfrozen", (Base,), {}))
    further: Any = Further
    assert further(1) == further(1, 1)


@BOTH
def test_shows_objects_that_contain_themselves(make: Any) -> None:
    @make
    class Node:
        parts: list[Any] = field(default_factory=list)

    node = Node()
    node.parts.append(node)
    assert repr(node).endswith("Node(parts=[...])")


@BOTH
def test_refuses_a_default_that_instances_would_share(make: Any) -> None:
    with pytest.raises(ValueError, match="mutable default"):
        make(type("Wrong", (), {"__annotations__": {"x": list}, "x": []}))


def test_refuses_to_thaw_what_is_frozen() -> None:
    with pytest.raises(TypeError, match="frozen"):
        dataclass(type("Thawed", (Point,), {}))


def test_refuses_a_field_without_default_behind_one_that_has_one() -> None:
    class Given:
        first: int = 1
        second: int

    with pytest.raises(TypeError, match=r"Given: a field without a default follows one that has one"):
        dataclass(Given)


def test_methods_name_the_builtins_as_other_functions_do() -> None:
    assert {"__builtins__", "__name__"} <= Point.__init__.__globals__.keys()


def test_names_of_fields_are_the_methods_own() -> None:
    """Names that the text of methods uses itself, in classes of as many fields as another one."""

    @dataclass(frozen=True)
    class Plain:
        a: int
        b: int
        c: int = 3

    @dataclass(frozen=True)
    class Odd:
        hash: int
        other: int
        f0: int = 4

    assert (Plain(1, 2), Odd(1, other=2)) == (Plain(a=1, b=2, c=3), Odd(hash=1, other=2, f0=4))
    assert len({Odd(1, 2), Odd(1, 2, 4), Odd(1, 2, 3)}) == 2
    assert repr(Odd(1, 2)).endswith("Odd(hash=1, other=2, f0=4)")
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument: 'other'"):
        Odd(1)  # type: ignore[call-arg]  # one too few
