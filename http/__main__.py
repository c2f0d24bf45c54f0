"""`onebroker`: reads the command and runs it. The only place, with `commands/`, that knows tree and app both."""

import argparse
import importlib
import logging
import sys
from collections.abc import Sequence
from typing import Protocol

from onebroker.http.commands.exits import run_to_exit_code

_COMMANDS = {
    "serve": "serve",
    "demo": "demo",
    "simulator": "simulator",
    "login": "login",
    "check": "check",
    "import": "import_documents",
    "instruments": "instruments",
    "history": "history",
    "factors": "factors",
}
"""Command -> module of `commands/`. Only the one that is asked for is imported: a service has no use for ten simulated servers."""


class _Command(Protocol):
    """A module of `commands/`."""

    def add_parser(self, commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (architecture 11)."""
    parser = argparse.ArgumentParser(prog="onebroker", description="Ten broker accounts as one account.")
    parser.add_argument("--log-level", default="warning", choices=("debug", "info", "warning", "error"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _wanted(sys.argv[1:] if arguments is None else arguments):
        command.add_parser(commands)
    parsed = parser.parse_args(arguments)
    logging.basicConfig(
        level=parsed.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    return run_to_exit_code(lambda: int(parsed.run(parsed)))


def _wanted(arguments: Sequence[str]) -> list[_Command]:
    """Return the command that the arguments name, or all of them when they name none (help, or a mistake)."""
    named = [word for word in arguments if word in _COMMANDS][:1]
    return [importlib.import_module(f"onebroker.http.commands.{_COMMANDS[name]}") for name in named or _COMMANDS]


if __name__ == "__main__":
    sys.exit(main())
