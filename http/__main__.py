"""`onebroker`: reads the command and runs it. Only this module and `commands/` know both the actor tree and the application."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from onebroker.http.commands.parsers.all_commands import build_parser

WRONG_USE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (architecture 11). The product is imported only when a command runs, never for help."""
    parsed = build_parser().parse_args(arguments)
    if parsed.runs is None:
        parsed.print_help(sys.stderr)
        return WRONG_USE
    from onebroker.http.commands.exit_codes import run_to_exit_code

    os.umask(0o077)  # the files that a command writes hold tokens, orders and logins
    if getattr(parsed, "has_log", True):
        _open_log(parsed)
    return run_to_exit_code(lambda: _function(parsed.runs)(parsed))


def _open_log(parsed: argparse.Namespace) -> None:
    from onebroker.http.commands.log_lines import log_to_stderr

    log_to_stderr(
        parsed.log_level or getattr(parsed, "usual_log_level", "warning"),
        parsed.log_format,
        beside=getattr(parsed, "log_beside", False),
    )


def _function(named: str) -> Callable[[Any], int]:
    """Return the function that a parser names with `module:function`."""
    from onebroker.http.listener.gc_pauses import imports_put_aside

    module, _, name = named.partition(":")
    with imports_put_aside():
        function: Callable[[Any], int] = getattr(importlib.import_module(f"onebroker.http.commands.{module}"), name)
    return function


if __name__ == "__main__":
    sys.exit(main())
