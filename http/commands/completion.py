"""`onebroker completion bash|zsh`: prints the script that completes commands and options in a shell. It needs the extra `completion` (shtab)."""

import argparse
import sys
from collections.abc import Mapping

from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.parsers.all_commands import build_parser

NOT_INSTALLED = "shtab is not installed, which makes the script: pip install 'onebroker[completion]'"


def run(parsed: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        raise CommandFailed(NOT_INSTALLED, WRONG_USE) from None
    parser = build_parser()
    _mark_paths(parser, {"FILE": shtab.FILE, "LOG": shtab.FILE, "PATH": shtab.FILE, "DIR": shtab.DIRECTORY})
    sys.stdout.write(shtab.complete(parser, shell=parsed.shell))
    return DONE


def _mark_paths(parser: argparse.ArgumentParser, kinds: Mapping[str, object]) -> None:
    """Let the shell complete file names for options whose value is a file or a folder (by the name of the value)."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _mark_paths(inner, kinds)
        elif (kind := kinds.get(str(action.metavar))) is not None:
            action.complete = kind  # type: ignore[attr-defined]
