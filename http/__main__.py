"""`onebroker`: reads the command and runs it. Only this module and `commands/` know both the actor tree and the application."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from onebroker.http.commands.exit_codes import run_to_exit_code
from onebroker.http.commands.log_lines import FORMATS, log_to_stderr

_COMMANDS = {
    "serve": "serve",
    "demo": "demo.command",
    "simulator": "simulator",
    "login": "login",
    "check": "check",
    "import": "import_documents",
    "halt": "halt",
    "resume": "resume",
    "flatten": "flatten",
    "instruments": "instruments",
    "history": "history.command",
    "factors": "history.factors",
}
"""Command -> module of `commands/`. Only the module of the given command is imported: a service does not need ten simulated servers."""


class _Command(Protocol):
    """A module of `commands/`."""

    def add_parser(self, commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (architecture 11)."""
    parser = argparse.ArgumentParser(prog="onebroker", description="Ten broker accounts as one account.")
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        help="the least level that is written (serve: info, else warning)",
    )
    parser.add_argument("--log-format", default="text", choices=FORMATS, help="json: one object a line, for machines")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _wanted(sys.argv[1:] if arguments is None else arguments):
        command.add_parser(commands)
    parsed = parser.parse_args(arguments)
    os.umask(0o077)  # the files that a command writes hold tokens, orders and logins
    log_to_stderr(
        parsed.log_level or getattr(parsed, "usual_log_level", "warning"),
        parsed.log_format,
        beside=getattr(parsed, "log_beside", False),
    )
    return run_to_exit_code(lambda: int(parsed.run(parsed)))


def _wanted(arguments: Sequence[str]) -> list[_Command]:
    """Return the command that the arguments name; return all commands when they name none (help, or a mistake)."""
    named = [word for word in arguments if word in _COMMANDS][:1]
    return [importlib.import_module(f"onebroker.http.commands.{_COMMANDS[name]}") for name in named or _COMMANDS]


if __name__ == "__main__":
    sys.exit(main())
