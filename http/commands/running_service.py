"""How a command about trading reaches the running service: by the control socket of its data directory, without the API's access token."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import trio

from onebroker.http.commands.command_settings import data_dir_of
from onebroker.http.commands.exit_codes import NOTHING_REACHABLE, CommandFailed
from onebroker.http.commands.screen import write, write_json
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service

NOT_ALL_DONE = 1
"""The exit code of a request that was carried out in part."""


def ask(
    parsed: argparse.Namespace, request: Mapping[str, str], without: str = ", so nothing was done"
) -> dict[str, Any]:
    """Send a command and return its answer. `without` ends the sentence that no service runs. Raises CommandFailed."""
    data_dir = data_dir_of(parsed)
    try:
        return trio.run(ask_service, data_dir / SOCKET_NAME, request, strict_exception_groups=True)
    except NoService:
        raise CommandFailed(f"no service runs on {data_dir}{without}", NOTHING_REACHABLE) from None
    except ControlFailed as error:
        raise CommandFailed(str(error), NOTHING_REACHABLE) from None


def say(parsed: argparse.Namespace, answer: Mapping[str, Any], *lines: str) -> None:
    """Print an answer: as JSON if that is asked for, else these lines."""
    if parsed.json:
        write_json(sys.stdout, answer)
    else:
        write(sys.stdout, lines)
