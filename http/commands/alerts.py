"""`onebroker alerts test`: sends one message to every receiver of `alerts.to`, without a running service.

Exit code 0 when every receiver took it, 1 when some did not, 2 for wrong settings or when there is no receiver.
"""

import argparse
import sys

import trio

from onebroker.actors.alerts.apprise_receivers import open_receivers
from onebroker.actors.alerts.trial import try_receivers
from onebroker.config.clock import Clock
from onebroker.config.messages.alerts import NO_RECEIVER
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import write, write_json

NOT_ALL_TAKEN = 1


def run(parsed: argparse.Namespace) -> int:
    settings = read_settings(parsed.config)
    receivers = open_receivers(settings.alerts.to)
    if not receivers:
        raise CommandFailed(NO_RECEIVER, WRONG_USE)
    answers = trio.run(try_receivers, receivers, Clock(), strict_exception_groups=True)
    rows = [
        {"receiver": receiver.number, "scheme": receiver.scheme, "ok": why is None, "words": why}
        for receiver, why in zip(receivers, answers, strict=True)
    ]
    if parsed.json:
        write_json(sys.stdout, rows)
    else:
        write(sys.stdout, [f"receiver {row['receiver']} ({row['scheme']}): {row['words'] or 'ok'}" for row in rows])
    return DONE if all(why is None for why in answers) else NOT_ALL_TAKEN
