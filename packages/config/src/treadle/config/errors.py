"""The root of every error and warning that treadle raises, and the errors of options."""

from typing import Any, ClassVar, Self


class TreadleError(Exception):
    """Root of every error raised by treadle.

    Each concrete class also derives from the builtin that a caller would naturally catch.
    Messages read *subject: what is wrong, what was given, what to do*. Where nothing catches an error, it is shown
    without treadle's own frames (`treadle.config.tracebacks`).
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Return an error, and let errors be shown by their user's lines from the first one on."""
        if not Display.begun and Display.module is not None:
            Display.begun = True
            Display.module.install()
        return super().__new__(cls, *args, **kwargs)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows."""
        lines: list[str] = Display.module.rendered_in_ipython(self)
        return lines


class Display:
    """How errors that nothing catches are shown.

    Attributes
    ----------
    module
        `treadle.config.tracebacks`, which is imported when the first error is made; the package says so when it is
        imported.
    begun
        Whether Python shows errors so.
    """

    module: ClassVar[Any] = None
    begun: ClassVar[bool] = False


class TreadleWarning(UserWarning):
    """Root of every warning given by treadle."""


class OptionWarning(TreadleWarning):
    """A setting was accepted but has no effect here."""


class UnknownOptionError(TreadleError, AttributeError, KeyError):
    """No option of that name exists; the message lists the nearest names.

    It is an `AttributeError` because options are read as attributes, and a `KeyError` because they
    are also given as keywords and as keys.
    """

    # KeyError would show the message in quotes and on one line.
    __str__ = Exception.__str__


class OptionValueError(TreadleError, ValueError):
    """A value is not one that the option accepts."""


class OptionSourceError(TreadleError, ValueError):
    """An rc file or ``TREADLE_FLAGS`` is malformed; the message gives file and line, or the text."""


class OptionSettingsError(OptionSourceError, OptionValueError, UnknownOptionError):
    """Several settings from outside are wrong; the message lists them all, each with where it stands."""


class OptionScopeError(TreadleError, RuntimeError):
    """An option was assigned where the assignment could not be seen."""


class ReadOnlyOptionError(TreadleError, AttributeError):
    """A read-only option was changed after its first use."""


class DecorationError(TreadleError, TypeError):
    """A block was used to decorate something whose body runs outside of the call."""


class OptionDefinitionError(TreadleError, ValueError):
    """The declaration of an option is wrong, or two declarations clash."""


class DiscoveryError(TreadleError, ValueError):
    """Two distributions claim one entry-point name, or an entry point is malformed."""


class EntryPointLoadError(TreadleError, ImportError):
    """An entry point names something that cannot be imported."""
