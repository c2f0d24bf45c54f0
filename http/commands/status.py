"""`onebroker status`: the running service's health as tables, or as the document of `GET /api/health` (`--json`). It works without the API's access
token.

`--watch` shows it anew each second until Ctrl-C. Exit code 0 when all is well, 1 when the service is degraded, 4 when no service runs; with
`--watch` by the last look.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any

from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, CommandFailed
from onebroker.http.commands.health_tables import health_block
from onebroker.http.commands.running_service import NOT_ALL_DONE, ask
from onebroker.http.commands.screen import Block, MovingBlock, is_terminal, write, write_json
from onebroker.http.control.reading_commands import HEALTH

LOOK_SECONDS = 1.0


def run(parsed: argparse.Namespace) -> int:
    return _watch(parsed) if parsed.watch else _once(parsed)


def _once(parsed: argparse.Namespace) -> int:
    health = ask(parsed, {"command": HEALTH}, without="")
    if parsed.json:
        write_json(sys.stdout, health)
    else:
        write(sys.stdout, health_block(health))
    return exit_code(health)


def exit_code(health: Mapping[str, Any]) -> int:
    """Return the exit code for a health document."""
    return DONE if health["status"] == "ok" else NOT_ALL_DONE


def _watch(parsed: argparse.Namespace) -> int:
    """Look each second. A service that is away is shown as away, because it may come back."""
    block = MovingBlock(sys.stdout) if is_terminal(sys.stdout) and not parsed.json else None
    code = DONE
    try:
        while True:
            health: dict[str, Any] | None = None
            shown: Block
            try:
                health = ask(parsed, {"command": HEALTH}, without="")
                code, shown = exit_code(health), health_block(health)
            except CommandFailed as error:
                if error.code != NOTHING_REACHABLE:
                    raise
                code, shown = error.code, [str(error)]
            if block is not None:
                block.show(shown)
            elif parsed.json:
                write_json(sys.stdout, health)
            else:
                write(sys.stdout, [*shown, ""])
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        return code
    finally:
        if block is not None:
            block.close()
