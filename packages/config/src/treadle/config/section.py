"""Groups of options that share the first part of their names."""

from typing import Any

from treadle.config.errors import UnknownOptionError


class Section:
    """The options of one section, as in ``config.compile.timeout``."""

    __slots__ = ("_config", "_prefix")

    _config: Any
    _prefix: str

    def __init__(self, config: Any, name: str) -> None:
        object.__setattr__(self, "_config", config)
        object.__setattr__(self, "_prefix", f"{name}__")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            msg = f"section {self._prefix[:-2]}: has no attribute {name!r}. Options do not begin with an underscore."
            raise UnknownOptionError(msg)
        return getattr(self._config, self._prefix + name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._config, self._prefix + name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._config, self._prefix + name)

    def __repr__(self) -> str:
        return str(self._config.describe(self._prefix))

    def __dir__(self) -> list[str]:
        names = (option.name for option in self._config.options())
        return sorted(name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix))
