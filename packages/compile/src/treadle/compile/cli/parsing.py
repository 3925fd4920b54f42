"""A parser of the command line whose errors are one line, with the nearest word that it knows."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# As argparse writes them.
_CHOICE = re.compile(r"(?P<before>.*)invalid choice: '(?P<word>[^']*)' \(choose from (?P<known>.*)\)", re.DOTALL)
WRONG_CALL = 2


class Parser(argparse.ArgumentParser):
    """An argument parser that refuses a wrong call in one line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_defaults(parser=self)  # that of the innermost command remains

    def error(self, message: str) -> NoReturn:
        """Print what is wrong in one line, and exit with status 2."""
        choice = _CHOICE.fullmatch(message)
        if choice is not None:
            known = re.findall(r"[\w|.-]+", choice["known"])
            message = f"{choice['before']}invalid choice: {choice['word']!r} (choose from {', '.join(known)})"
            message += did_you_mean(choice["word"], known)
        sys.stderr.write(
            f"{self.prog}: {message.rstrip('.?')}{'?' if message.endswith('?') else '.'} See {self.prog} --help.\n"
        )
        raise SystemExit(WRONG_CALL)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what no command takes is refused by the innermost command, with the nearest option."""
        parsed, extra = self.parse_known_args(args, namespace)
        if extra:
            innermost: Parser = parsed.parser
            options = [option for action in innermost._actions for option in action.option_strings]
            innermost.error(f"unrecognized arguments: {' '.join(extra)}{did_you_mean(extra[0], options)}")
        return parsed


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return the question for the nearest word, an empty string where none is near."""
    near = difflib.get_close_matches(word.partition("=")[0], known, n=1, cutoff=0.5)
    return f". Did you mean {near[0]}?" if near else ""


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a parser's sub-commands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def words_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the words that may follow a command: sub-commands, options, and values of arguments that are listed."""
    words = [*commands_of(parser)]
    for action in parser._actions:
        words += action.option_strings
        if action.choices is not None and not isinstance(action, argparse._SubParsersAction):
            words += map(str, action.choices)
    return words


def every_command(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each command as it is typed, with its parser, the outermost first."""
    yield parser.prog, parser
    for child in dict.fromkeys(commands_of(parser).values()):
        yield from every_command(child)
