"""The whole command line: options of `onebroker` itself, and every command."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from onebroker.http.commands.parsers import keeping, market_data, services, setup, trading, words
from onebroker.http.commands.parsers.form import Help


class _Version(argparse.Action):
    """Prints the version. It is looked up only then, because the look costs time."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help="print the version and end")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"onebroker {version('onebroker')}\n")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line. A parsed command has `runs`, the function that runs it."""
    parser = argparse.ArgumentParser(
        prog="onebroker",
        description="Ten broker accounts as one account.",
        epilog="Example:\n  onebroker demo --port 8001 --data-dir demo-data --no-past",
        formatter_class=Help,
    )
    parser.add_argument("--version", action=_Version)
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        help="the least level that is written (default: info for serve, else warning)",
    )
    parser.add_argument(
        "--log-format", default="text", choices=words.LOG_FORMATS, help="json: one object a line, for machines"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    services.add_parsers(commands)
    trading.add_parsers(commands)
    market_data.add_parsers(commands)
    setup.add_parsers(commands)
    keeping.add_parsers(commands)
    trading.add_support_bundle(commands)
    return parser
