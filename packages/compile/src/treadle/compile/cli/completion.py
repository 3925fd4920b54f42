"""``treadle completion``: a script that completes the command's words in a shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from treadle.compile.cli import explain
from treadle.compile.cli.parsing import commands_of, every_command, words_of
from treadle.compile.mode.backends import BACKENDS
from treadle.config import config

if TYPE_CHECKING:
    import argparse
    from argparse import _SubParsersAction
    from collections.abc import Callable, Mapping

    from treadle.compile.cli.parsing import Parser

_WHERE = {
    "bash": 'eval "$(treadle completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(treadle completion zsh)" in ~/.zshrc, after compinit',
    "fish": "treadle completion fish > ~/.config/fish/completions/treadle.fish",
}


def add_parser(commands: _SubParsersAction[Parser]) -> None:
    """Add the sub-command to a parser's sub-commands."""
    text = "; ".join(f"{shell}: {how}" for shell, how in _WHERE.items())
    parser = commands.add_parser("completion", help="a script that completes treadle's words in a shell", epilog=text)
    parser.add_argument("shell", choices=tuple(_WHERE), help="the shell")


def run(parser: argparse.ArgumentParser, shell: str) -> int:
    """Print the script of a shell; return the exit status."""
    sys.stdout.write(_SCRIPTS[shell](words(parser)))
    return 0


def words(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return for each command, as it is typed, the words that may follow it; aliases included."""
    further = {
        "treadle explain": explain.names(),
        "treadle config": [option.name for option in config.options()],
        "treadle doctor": list(BACKENDS.names()),
    }
    found = {}
    for typed, command in every_command(parser):
        found[typed] = [*words_of(command), *further.get(typed, ())]
        for alias, child in commands_of(command).items():
            found.setdefault(f"{typed} {alias}", [*words_of(child), *further.get(child.prog, ())])
    return found


def _cases(table: Mapping[str, list[str]], of_case: Callable[[str, str], str]) -> str:
    return "\n".join(of_case(typed, " ".join(following)) for typed, following in table.items())


def _steps(table: Mapping[str, list[str]]) -> str:
    """Return the commands inside of others, as a pattern of the shells that have Bourne's."""
    return "|".join(f'"{typed}"' for typed in table if " " in typed)


def _bash(table: Mapping[str, list[str]]) -> str:
    cases = _cases(table, lambda typed, following: f'        "{typed}") words="{following}" ;;')
    return f"""\
_treadle() {{
    local place=treadle words="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$place ${{COMP_WORDS[i]}}" in {_steps(table)}) place="$place ${{COMP_WORDS[i]}}" ;; esac
    done
    case "$place" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _treadle treadle
"""


def _zsh(table: Mapping[str, list[str]]) -> str:
    cases = _cases(table, lambda typed, following: f'        "{typed}") compadd -- {following} ;;')
    return f"""\
#compdef treadle
_treadle() {{
    local place=treadle i
    for ((i = 2; i < CURRENT; i++)); do
        case "$place ${{words[i]}}" in {_steps(table)}) place="$place ${{words[i]}}" ;; esac
    done
    case "$place" in
{cases}
    esac
    _files
}}
compdef _treadle treadle
"""


def _fish(table: Mapping[str, list[str]]) -> str:
    steps = " ".join(f'"{typed}"' for typed in table if " " in typed)
    cases = _cases(
        table,
        lambda typed, following: f"complete -c treadle -n 'test (__treadle_place) = \"{typed}\"' -a '{following}'",
    )
    return f"""\
function __treadle_place
    set -l place treadle
    for word in (commandline -opc)[2..-1]
        switch "$place $word"
            case {steps}
                set place "$place $word"
        end
    end
    echo $place
end
{cases}
"""


_SCRIPTS: Mapping[str, Callable[[Mapping[str, list[str]]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
