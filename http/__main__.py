"""`onebroker`: reads the command and runs it. The only place, with `commands/`, that knows tree and app both."""

import argparse
import logging
import sys
from collections.abc import Sequence

from onebroker.http.commands import demo, login, serve, simulator
from onebroker.http.commands.exits import run_to_exit_code

_COMMANDS = (serve, demo, simulator, login)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (architecture 11)."""
    parser = argparse.ArgumentParser(prog="onebroker", description="Ten broker accounts as one account.")
    parser.add_argument("--log-level", default="warning", choices=("debug", "info", "warning", "error"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(commands)
    parsed = parser.parse_args(arguments)
    logging.basicConfig(
        level=parsed.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    return run_to_exit_code(lambda: int(parsed.run(parsed)))


if __name__ == "__main__":
    sys.exit(main())
