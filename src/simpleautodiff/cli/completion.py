"""Scripts that let a shell complete commands, options and their values by the Tab key."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

SHELLS = ("bash", "zsh", "fish")
Parsers = Mapping[str, argparse.ArgumentParser]

_BASH = """\
_simpleautodiff() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  case "${{COMP_WORDS[1]}} $prev" in
{values}
    *" --output") COMPREPLY=($(compgen -f -- "$cur")); return;;
  esac
  if [ -z "$words" ]; then
    case "${{COMP_WORDS[1]}}" in
{options}
    esac
  fi
  if [ "$COMP_CWORD" = 1 ]; then words="{commands}"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _simpleautodiff simpleautodiff"""
_ZSH = """\
(( $+functions[compdef] )) || { autoload -U +X compinit && compinit }
autoload -U +X bashcompinit && bashcompinit
"""


def write_completion(shell: str, parsers: Parsers) -> str:
    """Write the script for one shell, from the parsers of all commands.

    Examples
    --------
    >>> parser = argparse.ArgumentParser(description="draw: a graph")
    >>> _ = parser.add_argument("--format", choices=("svg", "text"), help="how")
    >>> write_completion("fish", {"draw": parser}).endswith('-l format -d "how" -xa "svg text"')
    True
    """
    if shell == "fish":
        return "\n".join(_fish(parsers))
    return (_ZSH if shell == "zsh" else "") + _bash(parsers)


def _options(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.Action]]:
    """Return the long options of a command."""
    return [
        (name, action)
        for action in parser._actions
        for name in action.option_strings
        if name.startswith("--")
    ]


def _choices(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


def _find_words(parser: argparse.ArgumentParser) -> list[str]:
    """Return the words that stand after a command without an option: other commands, shells."""
    positional = [action for action in parser._actions if not action.option_strings]
    return [_choices(action) for action in positional if action.choices]


def _bash(parsers: Parsers) -> str:
    values, options = [], []
    for command, parser in parsers.items():
        found = _options(parser)
        words = [name for name, _ in found] + _find_words(parser)
        options.append(f'      {command}) words="{" ".join(words)}";;')
        values += [
            f'    "{command} {name}") words="{_choices(action)}";;'
            for name, action in found
            if action.choices
        ]
    return _BASH.format(
        values="\n".join(values), options="\n".join(options), commands=" ".join(parsers)
    )


def _fish(parsers: Parsers) -> list[str]:
    lines = ['complete -c simpleautodiff -n "__fish_use_subcommand" -f']
    for command, parser in parsers.items():
        about = str(parser.description).partition(": ")[2].replace("\n", " ")
        first = 'complete -c simpleautodiff -n "__fish_use_subcommand"'
        lines.append(f'{first} -a {command} -d "{about}"')
        seen = f'complete -c simpleautodiff -n "__fish_seen_subcommand_from {command}"'
        lines += [f'{seen} -f -a "{words}"' for words in _find_words(parser)]
        for name, action in _options(parser):
            line = f'{seen} -l {name[2:]} -d "{action.help}"'
            if action.choices:
                line += f' -xa "{_choices(action)}"'
            elif name == "--output":
                line += " -rF"
            lines.append(line)
    return lines
