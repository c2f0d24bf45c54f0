"""The form of every command's help: a description, one example, and for each option what holds without it."""

import argparse
import textwrap
from pathlib import Path

Commands = argparse._SubParsersAction  # the type of `add_subparsers`, which argparse does not publish

WIDTH = 100


class Help(argparse.RawDescriptionHelpFormatter):
    """Shows the default of an option, where its help does not say it in words."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        said = action.help or ""
        if action.option_strings or action.nargs == argparse.OPTIONAL:
            has_default = action.default not in (None, argparse.SUPPRESS, []) and not isinstance(action.default, bool)
            if has_default and "(default" not in said:
                return f"{said} (default: %(default)s)"
        return said


def add_command(
    commands: "Commands[argparse.ArgumentParser]", name: str, *, summary: str, about: str, example: str, runs: str
) -> argparse.ArgumentParser:
    """Add a command.

    `summary` is its line in the list of commands. `about` is its description. `example` is one command line that works. `runs` names the function
    that runs it, `module:function` below `onebroker.http.commands`.
    """
    parser = _add(commands, name, summary, about, example)
    parser.set_defaults(runs=runs)
    return parser


def add_group(
    commands: "Commands[argparse.ArgumentParser]", name: str, *, summary: str, about: str, example: str
) -> "Commands[argparse.ArgumentParser]":
    """Add a command that has commands of its own, and return the place of these. Alone it prints its help."""
    parser = _add(commands, name, summary, about, example)
    parser.set_defaults(runs=None, print_help=parser.print_help)
    return parser.add_subparsers(metavar="VERB", title="verbs")


def _add(
    commands: "Commands[argparse.ArgumentParser]", name: str, summary: str, about: str, example: str
) -> argparse.ArgumentParser:
    paragraphs = "\n\n".join(textwrap.fill(" ".join(part.split()), WIDTH) for part in about.split("\n\n"))
    return commands.add_parser(
        name,
        help=summary,
        description=paragraphs,
        epilog=f"Example:\n  {example}",
        formatter_class=Help,
    )


# Options of many commands


def add_config(parser: argparse.ArgumentParser, what: str = "settings file (TOML)") -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help=f"{what} (default: the environment alone)")


def add_data_dir(
    parser: argparse.ArgumentParser, what: str = "ask the service that runs on this data directory"
) -> None:
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help=f"{what} (default: that of the settings)")


def add_json(parser: argparse.ArgumentParser, what: str = "print the answer as JSON") -> None:
    parser.add_argument("--json", action="store_true", help=what)


def add_service(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that asks the running service."""
    add_config(parser)
    add_data_dir(parser)
    add_json(parser)
