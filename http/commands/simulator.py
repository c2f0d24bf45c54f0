"""`onebroker simulator`: runs only the simulated brokers. Prints one JSON line per broker, the control URL, then `ready`."""

import argparse

from onebroker.brokers.simulator.__main__ import read_options, run_to_end
from onebroker.http.commands.exit_codes import WRONG_USE, CommandFailed


def run(parsed: argparse.Namespace) -> int:
    try:
        options = read_options(parsed)
    except ValueError as error:
        raise CommandFailed(str(error), WRONG_USE) from None
    return run_to_end(options)
