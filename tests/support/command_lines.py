"""Every command of `onebroker` as its parser describes it: for tests of the help, and of the examples."""

import argparse
import shlex
from collections.abc import Iterator

import attrs

from onebroker.http.__main__ import main
from onebroker.http.commands.parsers.all_commands import build_parser


@attrs.frozen
class Command:
    name: str
    """As typed, such as `history load`; "" for `onebroker` itself."""
    parser: argparse.ArgumentParser

    @property
    def examples(self) -> list[str]:
        """The command lines of the help's `Example:`."""
        _, _, lines = (self.parser.epilog or "").partition("Example:\n")
        return [line.strip() for line in lines.splitlines() if line.strip()]

    @property
    def arguments(self) -> list[str]:
        """The example without the word `onebroker`."""
        (example,) = self.examples
        first, *others = shlex.split(example)
        assert first == "onebroker", example
        return others


def commands() -> list[Command]:
    """Return `onebroker`, its commands and their verbs."""
    return list(_below("", build_parser()))


def runnable() -> list[Command]:
    """Return the commands that do something; the others only hold verbs."""
    return [command for command in commands() if command.parser.get_default("runs")]


def _below(name: str, parser: argparse.ArgumentParser) -> Iterator[Command]:
    yield Command(name, parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from _below(f"{name} {word}".strip(), inner)


def run_line(*arguments: object) -> int:
    """Run a command line in this process, and return its exit code."""
    return main([str(argument) for argument in arguments])
