"""`onebroker demo`: the whole service over simulated brokers, with nothing to set up (architecture 6)."""

import argparse
import logging
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import attrs
import trio

from onebroker.actors.alerts.actor import AlertInputs
from onebroker.actors.alerts.start import alert_inputs
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable
from onebroker.actors.tree import Tree
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.world.universe import SMALLEST
from onebroker.brokers.transport.network import open_transport
from onebroker.config.clock import Clock, awake_seconds
from onebroker.config.settings import build_settings, load_settings
from onebroker.config.vocabulary import ReadStatus
from onebroker.http.commands.demo.documents import give_documents
from onebroker.http.commands.demo.past import keep_past
from onebroker.http.commands.demo.simulator_child import Simulated, end_with_simulator, keep_logged_in, simulator_child
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.log_lines import write_events_from
from onebroker.http.commands.parsers.words import DEMO_SECRET
from onebroker.http.commands.service_process import (
    ServiceOptions,
    known_brokers,
    run_service,
    second_hosts,
)
from onebroker.http.commands.stored_formats import open_data_directory

SIMULATOR_FOLDER = "simulator"
SETTLE_SECONDS = 15.0
"""The banner is printed after at most this many seconds, even if the demo has not settled."""
CONTROL_FILE = "control-url"
"""File of the data directory with the control API's address, for scripts; the address is printed too."""

EXCHANGES_FILE = "exchanges.json"
"""File of the data directory with the exchange documents as they were at the start, for the simulator."""


@attrs.frozen(kw_only=True)
class DemoOptions:
    host: str
    port: int
    api_key: str
    api_secret: str
    data_dir: Path
    instruments: int
    seed: int
    real_hours: bool
    now: datetime | None
    day_limits: bool
    past: bool
    """Whether to load the time before the first start, once."""
    alerts: AlertInputs | None
    """Whom to tell what, in messages to people."""


def run(parsed: argparse.Namespace) -> int:
    options = DemoOptions(
        host=parsed.host,
        port=parsed.port,
        api_key=parsed.api_key,
        api_secret=parsed.api_secret,
        data_dir=parsed.data_dir,
        instruments=read_count(parsed.instruments),
        seed=parsed.seed,
        real_hours=parsed.market_hours == "real",
        now=read_moment(parsed.now),
        day_limits=parsed.day_limits,
        past=not parsed.no_past,
        alerts=read_alerts(parsed.alerts),
    )
    if parsed.log_level is None:
        write_events_from(
            logging.ERROR
        )  # until the demo has logged in, its brokers need logins that nobody should make
    if options.alerts is not None:
        options.alerts.inbox.is_open = False  # for the same reason
    with open_data_directory(options.data_dir) as directory:
        trio.run(_demo, options, directory, strict_exception_groups=True)
    return DONE


def read_moment(text: str | None) -> datetime | None:
    """Return an aware moment; raise CommandFailed with a sentence that says what is wrong with the text."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandFailed(
            f"--now must be a moment such as 2026-11-23T09:10:00+05:30, not {text}", WRONG_USE
        ) from None
    if moment.tzinfo is None:
        raise CommandFailed("--now needs an offset, such as +05:30", WRONG_USE)
    return moment


def read_count(instruments: int) -> int:
    """Return how many instruments to list; raise CommandFailed if the simulator cannot list so few."""
    if instruments < SMALLEST:
        raise CommandFailed(f"--instruments must be at least {SMALLEST}", WRONG_USE)
    return instruments


def read_alerts(path: Path | None) -> AlertInputs | None:
    """Return the alerts of a settings file, of which nothing else is used; None without a file. Raises SettingsError.

    The environment is not asked: a demo must not alarm the receivers of a real service by accident."""
    if path is None:
        return None
    registry = build_registry()
    settings = load_settings(path, {}, known_brokers=known_brokers(registry), second_hosts=second_hosts(registry))
    return alert_inputs(settings.alerts)


async def _demo(options: DemoOptions, directory: DataDirectory) -> None:
    registry = build_registry()
    clock = Clock(awake=awake_seconds()) if options.now is None else Clock.starting_at(options.now)
    durable = SqliteDurable(directory.path / DURABLE_FILE)
    await give_documents(durable, registry, clock.now())
    # The simulated exchange keeps the same hours as the service; it uses later imports from the next start on.
    exchanges = b"[" + b",".join(await durable.documents("exchanges")) + b"]"
    await trio.Path(directory.path / EXCHANGES_FILE).write_bytes(exchanges)
    async with simulator_child(_simulator_arguments(options, directory.path, clock)) as simulated:
        await trio.Path(directory.path / CONTROL_FILE).write_text(f"{simulated.control_url}\n")
        settings = build_settings(
            {
                "service": {
                    "host": options.host,
                    "port": options.port,
                    "api_key": options.api_key,
                    "api_secret": options.api_secret,
                    "data_dir": str(directory.path),
                    "calendar": "exchanges" if options.real_hours else "always_open",
                },
                "brokers": simulated.broker_settings(registry),
            },
            known_brokers=known_brokers(registry),
            second_hosts=second_hosts(registry),
        )

        async def ready(address: str, tree: Tree) -> None:
            async with open_transport(clock) as transport, trio.open_nursery() as nursery:
                nursery.start_soon(end_with_simulator, simulated)
                nursery.start_soon(keep_logged_in, tree, transport)
                with trio.move_on_after(SETTLE_SECONDS):
                    await settled(tree)
                _say(banner(address, options, simulated))
                write_events_from(logging.NOTSET)
                if options.alerts is not None:
                    options.alerts.inbox.is_open = True
                if options.past:
                    await _published(tree)
                    documents = directory.path / EXCHANGES_FILE if options.real_hours else None
                    await keep_past(directory.path, simulated.made, documents, _say)

        await run_service(
            ServiceOptions(
                settings=settings,
                registry=registry,
                clock=clock,
                data_directory=directory,
                day_limits=options.day_limits,
                open_since=simulated.made.first_day,
                alerts=options.alerts,
                on_ready=ready,
            )
        )


async def settled(tree: Tree) -> None:
    """Wait until the first requests of a newcomer will work: instruments are mapped, every broker is in every document,
    and orders are taken."""
    await _published(tree)
    while not tree.engine_status.value.running:
        await tree.engine_status.wait_newer(tree.engine_status.version)
    for published in tree.documents.values():
        while not _all_read(published.value):
            await published.wait_newer(published.version)


async def _published(tree: Tree) -> None:
    """Wait for the first list of instruments."""
    while tree.catalogue.value.latest is None:
        await tree.catalogue.wait_newer(tree.catalogue.version)


def _all_read(document: DocumentState | None) -> bool:
    return document is not None and all(read.status is ReadStatus.OK for read in document.reads)


def _simulator_arguments(options: DemoOptions, data_dir: Path, clock: Clock) -> Sequence[str]:
    arguments = [
        "--data-dir", str(data_dir / SIMULATOR_FOLDER),
        "--instruments", str(options.instruments),
        "--seed", str(options.seed),
        "--market-hours", "real" if options.real_hours else "always",
        "--exchange-documents", str(data_dir / EXCHANGES_FILE),
    ]  # fmt: skip
    if options.now is not None:
        arguments += ["--now", clock.now().isoformat()]
    return [*arguments, *(["--day-limits"] if options.day_limits else [])]


def banner(address: str, options: DemoOptions, simulated: Simulated) -> str:
    """Return what a newcomer needs next: where the demo is, how to log in, where to look."""
    return "\n".join(
        (
            f"onebroker demo is running at {address}/api/",
            f"  brokers      {', '.join(simulated.lines)} (simulated)",
            f"  api-key      {options.api_key}",
            f"  api-secret   {options.api_secret if options.api_secret == DEMO_SECRET else '(as given)'}",
            f"  documents    {address}/docs",
            f"  control      {simulated.control_url} (moves the market, switches faults, shows the ledger)",
            f"  data         {options.data_dir}",
            "Ctrl-C stops it; the same data directory continues where it stopped.",
        )
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
