"""`onebroker replica`: serves the documents and the stream of a running service, read-only (docs/operations/replica.md)."""

import argparse
import ssl
import sys
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import trio

from onebroker.config.network_exposure import exposures
from onebroker.config.sections import ServiceSettings
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import write
from onebroker.http.replica.process import ReplicaOptions, run_replica


def run(parsed: argparse.Namespace) -> int:
    settings = read_settings(parsed.config).service
    if parsed.port is not None:
        settings = attrs.evolve(settings, port=parsed.port)
    options = ReplicaOptions(
        service=_service(parsed.of),
        settings=_exposed_safely(settings),
        tls=_context(parsed.ca),
        token_file=parsed.token_file,
        on_ready=lambda address: write(sys.stdout, [f"onebroker replica of {parsed.of} at {address}"]),
    )
    trio.run(partial(run_replica, options), strict_exception_groups=True)
    return DONE


def _service(given: str) -> str:
    """Return the address without a closing slash. Raises CommandFailed."""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise CommandFailed(f"--of must be http:// or https:// with host and port, not {given}", WRONG_USE)
    return f"{parts.scheme}://{parts.netloc}"


def _context(authority: Path | None) -> ssl.SSLContext | None:
    if authority is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(authority))
    except (OSError, ssl.SSLError) as error:
        raise CommandFailed(f"{authority} cannot be used: {error}", WRONG_USE) from None


def _exposed_safely(settings: ServiceSettings) -> ServiceSettings:
    """Return the settings. Raises CommandFailed for a listener that would send tokens in clear to other machines."""
    if refused := exposures(settings):
        raise CommandFailed("\n".join(refused), WRONG_USE)
    return settings
