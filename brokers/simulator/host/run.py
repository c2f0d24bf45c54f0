"""The simulator as a process: its data folder and lock, its ports, its servers, and its end.

Prints nothing. It reports through `announce`: one dict per broker and one with `control_url` (architecture 6).
"""

import fcntl
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

import attrs
import msgspec
import trio

from onebroker.brokers.simulator.dialects.dialect import DialectFactory
from onebroker.brokers.simulator.exchange.journal import SqliteJournal
from onebroker.brokers.simulator.host.control_api import Control
from onebroker.brokers.simulator.host.server import Server, Site
from onebroker.brokers.simulator.host.simulation import DEFAULT_INSTRUMENTS, DEFAULT_SEED, Recipe, Simulator
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock

LOCK_SECONDS = 10.0
"""How long a new simulator waits until the previous one releases the data folder and the ports."""
_RETRY_SECONDS = 0.1
_REVIEW_SECONDS = 0.2
_PIPE_BYTES = 4096
_CONTROL = "control"
_FOLDER, _STORE, _LOCK = "simulator", "simulator.sqlite3", "lock"
_MAIN_URLS = ("rest_url", "stream_url", "order_stream_url", "instruments_url", "login_url")

Announce = Callable[[Mapping[str, object]], None]


class FolderInUse(Exception):
    """Another simulator holds the data folder."""


@attrs.frozen(kw_only=True)
class SimulatorOptions:
    dialects: Mapping[str, DialectFactory]
    """Code -> builder, for the brokers to start (`lookup.chosen_dialects`)."""
    calendar: Calendar
    past_calendar: Calendar | None = None
    """Calendar of the days before the first one; None: `calendar`."""
    clock: Clock
    instruments: int = DEFAULT_INSTRUMENTS
    """At least 60. An existing data directory keeps its own number and seed."""
    seed: int = DEFAULT_SEED
    port_base: int | None = None
    """First of consecutive ports; None takes free ports. Ports kept in the data directory come first. With None, a free port replaces a kept port
    that another program now holds."""
    data_dir: Path | None = None
    """None: a temporary folder, deleted at the end."""
    day_limits: bool = False
    parent_pipe: int | None = None
    """A file descriptor. The simulator ends when it closes."""


async def run_simulator(
    options: SimulatorOptions, *, announce: Announce, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Run until cancelled, or until the parent's pipe closes. Reports started when every port answers.

    Raises FolderInUse, and OSError when a port counted from `port_base` stays taken.
    """
    async with _locked_folder(options.data_dir) as folder:
        journal = SqliteJournal(folder / _STORE)
        try:
            await _serve(options, journal, announce, task_status)
        finally:
            journal.close()


async def _serve(
    options: SimulatorOptions, journal: SqliteJournal, announce: Announce, task_status: trio.TaskStatus[None]
) -> None:
    simulator = Simulator(
        Recipe(
            dialects=options.dialects,
            calendar=options.calendar,
            past_calendar=options.past_calendar,
            clock=options.clock,
            journal=journal,
            instruments=options.instruments,
            seed=options.seed,
            day_limits=options.day_limits,
        )
    )
    ports = _Ports(simulator, options.port_base)
    prefix = _control_prefix(simulator)
    sites: dict[str, Site] = {**simulator.gateways, _CONTROL: Control(simulator, prefix)}
    async with trio.open_nursery() as nursery:
        free = options.port_base is None
        servers = {
            name: await _start(nursery, Server(site, ports.of(name), or_another=free)) for name, site in sites.items()
        }
        ports.keep({name: server.port for name, server in servers.items()})
        for code in simulator.gateways:
            announce(describe(simulator, code, servers[code].base))
        announce({"control_url": servers[_CONTROL].base + prefix, "made": describe_made(simulator)})
        await nursery.start(simulator.run_market)
        nursery.start_soon(_review, simulator, list(servers.values()))
        task_status.started()
        if options.parent_pipe is not None:
            await _until_closed(options.parent_pipe)
            nursery.cancel_scope.cancel()


def describe(simulator: Simulator, code: str, base: str) -> dict[str, object]:
    """Return the contents of a broker's JSON line: its addresses under `base`, the credentials it accepts, and minted tokens."""
    dialect = simulator.gateways[code].dialect
    addresses = dict(dialect.addresses(base))
    first = {name: addresses.pop(name) for name in _MAIN_URLS}
    return {
        "broker": code, **first, **addresses, "credentials": dict(dialect.credentials), "session": dict(dialect.session()),
    }  # fmt: skip


def describe_made(simulator: Simulator) -> dict[str, object]:
    """Return the inputs of the instruments and their past, for a reader that makes the same past."""
    made = simulator.exchange.made
    return {"number": made.number, "seed": made.seed, "first_day": made.first_day.isoformat()}


def _control_prefix(simulator: Simulator) -> str:
    """Return the beginning of every path of the control API. It is random, and stays the same after a restart, as its port does."""
    kept = simulator.exchange.recall("control_prefix")
    if not kept:
        kept = f"/{secrets.token_urlsafe(16)}"
        simulator.exchange.remember("control_prefix", kept)
    return kept


class _Ports:
    """Ports by site name: kept ports first, then ports counted from the base, then free ports."""

    def __init__(self, simulator: Simulator, base: int | None) -> None:
        self._simulator, self._base = simulator, base
        kept = simulator.exchange.recall("ports")
        self._kept = msgspec.json.decode(kept, type=dict[str, int]) if kept else {}
        self._counted = 0

    def of(self, name: str) -> int:
        place, self._counted = self._counted, self._counted + 1
        counted = 0 if self._base is None else self._base + place
        return self._kept.get(name, counted)

    def keep(self, ports: Mapping[str, int]) -> None:
        self._simulator.exchange.remember("ports", msgspec.json.encode({**self._kept, **ports}).decode())


async def _start(nursery: trio.Nursery, server: Server) -> Server:
    await nursery.start(server.run)
    return server


async def _review(simulator: Simulator, servers: list[Server]) -> None:
    """Open and close ports as faults begin, run out and are healed."""

    def review() -> None:
        for server in servers:
            server.review()

    simulator.faults.on_change(review)
    while True:
        await trio.sleep(_REVIEW_SECONDS)
        review()


async def _until_closed(descriptor: int) -> None:
    async with trio.lowlevel.FdStream(os.dup(descriptor)) as pipe:
        while await pipe.receive_some(_PIPE_BYTES):
            pass


@asynccontextmanager
async def _locked_folder(data_dir: Path | None) -> AsyncIterator[Path]:
    if data_dir is None:
        with tempfile.TemporaryDirectory(prefix="onebroker-simulator-") as name:
            yield Path(name)
        return
    folder = data_dir / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        await _take(lock, folder)
        yield folder


async def _take(lock: TextIO, folder: Path) -> None:
    with trio.move_on_after(LOCK_SECONDS):
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                await trio.sleep(_RETRY_SECONDS)
            else:
                return
    raise FolderInUse(f"another simulator is using {folder}")
