"""`onebroker alerts test`: sends one message to every receiver of `alerts.to`, without a running service.

Exit code 0 when every receiver took it, 1 when some did not, 2 for wrong settings or when there is no receiver.
"""

import argparse
import os
import sys
from pathlib import Path

from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed

NOT_ALL_TAKEN = 1


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("alerts", help="try the receivers of alerts")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    test = actions.add_parser("test", help="send one message to every receiver of alerts.to")
    test.add_argument("--config", type=Path, help="settings file (TOML); environment variables beat it")
    test.add_argument("--json", action="store_true", help="print the answers as JSON")
    test.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    import msgspec
    import trio

    from onebroker.actors.alerts.apprise_receivers import open_receivers
    from onebroker.actors.alerts.trial import try_receivers
    from onebroker.brokers.registry import build_registry
    from onebroker.config.clock import Clock
    from onebroker.config.settings import load_settings
    from onebroker.http.commands.printable import printable
    from onebroker.http.commands.service_process import known_brokers, second_hosts

    registry = build_registry()
    settings = load_settings(
        parsed.config, os.environ, known_brokers=known_brokers(registry), second_hosts=second_hosts(registry)
    )
    receivers = open_receivers(settings.alerts.to)
    if not receivers:
        raise CommandFailed("alerts.to names no receiver: docs/alerts.md says how to write them", WRONG_USE)
    answers = trio.run(try_receivers, receivers, Clock(), strict_exception_groups=True)
    rows = [
        {"receiver": receiver.number, "scheme": receiver.scheme, "ok": why is None, "words": why}
        for receiver, why in zip(receivers, answers, strict=True)
    ]
    lines = [f"receiver {row['receiver']} ({row['scheme']}): {row['words'] or 'ok'}" for row in rows]
    shown = [msgspec.json.encode(rows).decode()] if parsed.json else [printable(line) for line in lines]
    sys.stdout.write("".join(f"{line}\n" for line in shown))
    return DONE if all(why is None for why in answers) else NOT_ALL_TAKEN
