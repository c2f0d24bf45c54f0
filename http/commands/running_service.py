"""How a command about trading reaches the running service: by the control socket of its data directory, without the API's access token."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import trio

from onebroker.brokers.registry import build_registry
from onebroker.config.settings import load_settings
from onebroker.http.commands.exit_codes import NOTHING_REACHABLE, CommandFailed
from onebroker.http.commands.printable import printable
from onebroker.http.commands.service_process import known_brokers, second_hosts
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service

NOT_ALL_DONE = 1
"""The exit code of a request that was carried out in part."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, help="settings file (TOML)")
    parser.add_argument("--data-dir", type=Path, help="ask the service that runs on this data directory")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def ask(parsed: argparse.Namespace, request: Mapping[str, str]) -> dict[str, Any]:
    """Send a command and return its answer. Raises CommandFailed."""
    data_dir = _data_dir(parsed)
    try:
        return trio.run(ask_service, data_dir / SOCKET_NAME, request, strict_exception_groups=True)
    except NoService:
        raise CommandFailed(f"no service runs on {data_dir}, so nothing was done", NOTHING_REACHABLE) from None
    except ControlFailed as error:
        raise CommandFailed(str(error), NOTHING_REACHABLE) from None


def say(parsed: argparse.Namespace, answer: Mapping[str, Any], *lines: str) -> None:
    """Print an answer: as JSON if that is asked for, else these lines."""
    shown = [msgspec.json.encode(answer).decode()] if parsed.json else [printable(line) for line in lines]
    sys.stdout.write("".join(f"{line}\n" for line in shown))
    sys.stdout.flush()


def _data_dir(parsed: argparse.Namespace) -> Path:
    """Return the data directory; the settings are read only if the options do not give it."""
    given: Path | None = parsed.data_dir
    if given is not None:
        return given.expanduser()
    registry = build_registry()
    settings = load_settings(
        parsed.config, os.environ, known_brokers=known_brokers(registry), second_hosts=second_hosts(registry)
    )
    return settings.service.data_dir
