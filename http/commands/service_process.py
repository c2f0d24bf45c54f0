"""The service as a process: data directory, store, tree, listener, and their orderly start and stop. `serve` and `demo` use it."""

import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import date
from importlib import import_module
from pathlib import Path

import attrs
import trio

from onebroker.actors.alerts.actor import AlertInputs
from onebroker.actors.audit.day_files import FOLDER as AUDIT_FOLDER
from onebroker.actors.audit.open_audit import Audit, open_audit
from onebroker.actors.audit.problems import audit_problems
from onebroker.actors.audit.writer import AuditPlace
from onebroker.actors.catalogue.actor import FOLDER as CATALOGUE_FOLDER
from onebroker.actors.catalogue.builder import ProcessBuilder
from onebroker.actors.health.service_problems import database_away, store_evicts
from onebroker.actors.history.history_paths import incoming_folder
from onebroker.actors.history.open_history import open_history
from onebroker.actors.history.open_place import open_place
from onebroker.actors.kernel.events import Events, write_to_log
from onebroker.actors.kernel.supervisor import FOREVER, Child
from onebroker.actors.sessions.brokers_in_service import brokers_in_service
from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
from onebroker.actors.store.interface import StoreError
from onebroker.actors.store.open_durable import hold_durable
from onebroker.actors.store.redis import RedisStore, RedisStoreActor
from onebroker.actors.store.sealing import Seal
from onebroker.actors.store.server_address import read_address
from onebroker.actors.tree import Tree, TreeInputs, open_tree
from onebroker.brokers.broker import Registry
from onebroker.brokers.registry import ByCode
from onebroker.brokers.transport.network import open_transports
from onebroker.config.calendars import Calendar, DocumentCalendar, JoinedCalendar, always_open, calendar_from_documents
from onebroker.config.charges.load import age_warning, built_in_charges
from onebroker.config.charges.rows import Charges
from onebroker.config.clock import Clock
from onebroker.config.events import SettingsUsed, Started, Stopped
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.settings import Settings
from onebroker.config.shown_settings import shown_settings
from onebroker.http.app import build_app
from onebroker.http.commands.calendar_end import tell_calendar_ends
from onebroker.http.commands.start_facts import started, wait_for_stored_logins
from onebroker.http.composition import build_services, start_live
from onebroker.http.control.control_socket import SOCKET_NAME, ControlContext, serve_control
from onebroker.http.control.reading_commands import Readings
from onebroker.http.lane.fast_lane import FastLane
from onebroker.http.listener.accept_loop import TlsFiles, serve
from onebroker.http.listener.connection_limits import Connections, raise_file_limit
from onebroker.http.listener.connection_problems import connection_problems
from onebroker.http.listener.gc_pauses import imports_put_aside, settle_collector
from onebroker.http.listener.minute_log import flush_held
from onebroker.http.listener.refused_clients import RefusedClients
from onebroker.http.metrics.registry import Metrics
from onebroker.http.routes.health import health_document

_log = logging.getLogger("onebroker.service")

_CHARGES_LOOK_SECONDS = 600.0
"""Seconds after which the warning of old charges notices a new day, at the latest."""
CLOSE_SECONDS = 10.0
"""Seconds that the history store has to close its file; loaded rows are on disk in any case."""

OnReady = Callable[[str, Tree], Awaitable[None]]
"""Called with the address once the service answers; it may keep running while the service runs."""


OnStart = Callable[[Started, str, Tree], None]
"""Called with the event `start` and the address, once the service answers and the stored logins were tried."""


def _say_nothing(_event: Started, _address: str, _tree: Tree) -> None:
    pass


@attrs.frozen(kw_only=True)
class ServiceOptions:
    settings: Settings
    registry: Registry
    clock: Clock
    charges: Charges = attrs.field(factory=built_in_charges)
    data_directory: DataDirectory
    """The caller locks it for the whole life of the process."""
    day_limits: bool
    open_since: date | None = None
    """The first day of a market that never closes (`calendar = "always_open"`). Before that day the market had real
    hours; None: it never had real hours."""
    alerts: AlertInputs | None = None
    """Whom to tell what, in messages to people; None = nobody."""
    on_start: OnStart = _say_nothing
    on_ready: OnReady | None = None


def known_brokers(registry: Registry) -> Mapping[str, frozenset[str]]:
    """Return each broker's credential keys, for reading settings. A broker that the settings do not name is not loaded for it."""
    return ByCode(tuple(registry), lambda code: registry[code].all_credential_keys)


def second_hosts(registry: Registry) -> Mapping[str, frozenset[str]]:
    """Return the names of each broker's second hosts, for reading settings."""
    return ByCode(tuple(registry), lambda code: frozenset(registry[code].endpoints.others))


def document_calendar(settings: Settings) -> DocumentCalendar | None:
    """Choose the source of the one calendar (architecture 6). Only this function knows the setting. None = always open.

    The calendar begins with the documents that come with onebroker. It follows the imported documents once the
    reference actor has read them, before any session starts.
    """
    return None if settings.service.calendar == "always_open" else DocumentCalendar(exchange_documents())


def never_closing(since: date | None) -> Calendar:
    """Return the calendar of a market that never closes from `since` on. Before that day it follows the documents that
    come with onebroker."""
    if since is None:
        return always_open()
    return JoinedCalendar(calendar_from_documents(exchange_documents()), since, always_open())


async def run_service(options: ServiceOptions) -> None:
    """Run until SIGINT or SIGTERM. Then stop taking requests, let requests in flight finish (bounded), flush, and
    close.

    Raises ListenError, StoreRefused, StoreError, NoServerBinary, DurableError, DatabaseHeld (in groups).
    """
    raise_file_limit()
    metrics = Metrics()
    log = Events(write_to_log)
    place = AuditPlace(folder=options.data_directory.path / AUDIT_FOLDER, keep_days=options.settings.audit.keep_days)
    async with open_audit(place, options.clock, log) as audit:  # it ends last, so that `stop` is a line of it too
        alerts = () if options.alerts is None else (options.alerts.inbox.hear,)
        events = Events(write_to_log, metrics.hear, audit.hear, *alerts)
        events.tell(SettingsUsed(values=tuple(f"{name}={text}" for name, text in shown_settings(options.settings))))
        await _run(options, events, metrics, audit)


async def _run(options: ServiceOptions, events: Events, metrics: Metrics, audit: Audit) -> None:
    service = options.settings.service
    refused_clients = RefusedClients(events)
    connections = Connections(clients=refused_clients)
    tls = None
    if service.tls_certificate is not None and service.tls_key is not None:
        tls = TlsFiles(certificate=service.tls_certificate, key=service.tls_key)
    shutdown, listening = trio.Event(), trio.Event()
    listening_since: float | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_wait_for_signal, shutdown, listening, nursery.cancel_scope)
        nursery.start_soon(warn_of_old_charges, options.charges, options.clock)
        seal = seal_of(options.settings)
        async with _running_tree(options, seal, events) as (tree, store), trio.open_nursery() as serving:
            live = await start_live(tree, options.clock, store, options.settings.chain)
            tree.problems.add(lambda: connection_problems(connections))
            tree.problems.add(lambda: audit_problems(audit.figures()))
            services = build_services(
                tree, options.settings, options.clock, store, live, connections, refused_clients, metrics, events, audit
            )
            await tree.supervisor.start(Child(name="loop lag", build=lambda: metrics.loop_lag, policy=FOREVER))
            app = build_app(services)

            async def end_streams() -> None:
                await shutdown.wait()
                live.stopping.set()

            async def listen(*, task_status: trio.TaskStatus[list[str]]) -> None:
                await serve(
                    app,
                    service.host,
                    service.port,
                    shutdown_event=shutdown,
                    connections=connections,
                    lane=FastLane(services, on_answer=metrics.requests.answered) if service.fast_lane else None,
                    tls=tls,
                    task_status=task_status,
                )
                serving.cancel_scope.cancel()

            context = ControlContext(
                sessions=tree.sessions,
                reference=tree.reference_actor,
                catalogue=tree.catalogue_actor,
                catalogue_progress=tree.catalogue_progress,
                history=tree.history_actor,
                collector=tree.collector,
                backfill=tree.backfill,
                desk=tree.desk,
                readings=Readings(
                    health=lambda: health_document(services),
                    documents=tree.documents,
                    store=store,
                    token_actor=tree.token_actor,
                    calendar=tree.calendar,
                    has_credentials=service.api_key is not None and service.api_secret is not None,
                    clock=options.clock,
                ),
                clock=options.clock,
                data_dir=options.data_directory.path,
                events=events,
            )
            await serving.start(serve_control, options.data_directory.path / SOCKET_NAME, context)
            addresses = await serving.start(listen)
            listening.set()
            listening_since = options.clock.monotonic()
            metrics.process.put_aside = settle_collector()
            serving.start_soon(end_streams)
            serving.start_soon(flush_held, refused_clients.log, connections.no_room)
            serving.start_soon(tell_calendar_ends, tree.calendar, options.clock, events)
            serving.start_soon(_tell_start, options, tree, addresses[0], store, events)
            serving.start_soon(_drop_plain, tree, store, seal)
            if options.on_ready is not None:
                serving.start_soon(options.on_ready, addresses[0], tree)
        nursery.cancel_scope.cancel()
    if listening_since is not None:
        events.tell(Stopped(up_seconds=round(options.clock.monotonic() - listening_since, 1)))


async def _tell_start(options: ServiceOptions, tree: Tree, address: str, store: RedisStore, events: Events) -> None:
    """Tell `start` after the stored logins were tried; a service that is stopped before tells it at once."""
    try:
        await wait_for_stored_logins(tree)
    finally:
        event = started(tree, address, options.settings.service, store.durability)
        events.tell(event)
        options.on_start(event, address, tree)


async def _drop_plain(tree: Tree, store: RedisStore, seal: Seal) -> None:
    """Once the stored logins were read, remove the texts of those that were stored before there was a key from the store's files."""
    await wait_for_stored_logins(tree)
    if not seal.found_plain:
        return
    try:
        await store.drop_overwritten()
        _log.info("logins or the access token were stored in plain text: they are encrypted now")
    except StoreError as error:
        _log.warning(
            "the files of Redis may still hold logins in plain text, because it did not write them anew: %s", error
        )


async def warn_of_old_charges(charges: Charges, clock: Clock) -> None:
    """Log once a day that the charges tables were not compared with their sources for over a year."""
    said = None
    while True:
        day = clock.now().date()
        if day != said and (warning := age_warning(charges, day)) is not None:
            _log.warning(warning)
            said = day
        await trio.sleep(_CHARGES_LOOK_SECONDS)


async def _wait_for_signal(shutdown: trio.Event, listening: trio.Event, everything: trio.CancelScope) -> None:
    """On SIGINT or SIGTERM let the listener end in its own time; while the service is still starting, cancel everything."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            shutdown.set()
            if not listening.is_set():
                everything.cancel()


@asynccontextmanager
async def _running_tree(options: ServiceOptions, seal: Seal, events: Events) -> AsyncIterator[tuple[Tree, RedisStore]]:
    settings, data_dir = options.settings, options.data_directory.path
    store, store_child = open_store(settings, data_dir)
    documented = document_calendar(settings)
    if settings.redis.url is not None:
        await _check_server(store)
    history = open_history(data_dir, settings.history, settings.store)
    tick_place = open_place(incoming_folder(data_dir), settings)
    brokers = brokers_in_service(
        options.registry,
        settings.brokers,
        exit_share=settings.engine.exit_share,
        day_limits=options.day_limits,
    )
    egresses = {code: service.egress for code, service in brokers.items()}
    async with (
        hold_durable(data_dir, settings.store) as held,
        open_transports(options.clock, egresses, opened_by=options.settings.service.transport) as transports,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(
            trio.to_thread.run_sync, import_tables
        )  # while the store starts; who needs tables waits for it
        inputs = TreeInputs(
            settings=settings,
            charges=options.charges,
            brokers=brokers,
            clock=options.clock,
            calendar=documented or never_closing(options.open_since),
            document_calendar=documented,
            known_codes=tuple(options.registry),
            transports=transports,
            store=store,
            durable=held.durable,
            seal=seal,
            history=history,
            tick_place=tick_place,
            record_ticks=True,
            data_dir=data_dir,
            owner=options.data_directory.engine_owner(),
            catalogue_builder=ProcessBuilder(data_dir / CATALOGUE_FOLDER),
            store_child=store_child,
            events=events,
            alerts=options.alerts,
        )
        try:
            async with open_tree(inputs) as tree:
                tree.problems.add(lambda: database_away(held.trouble()))
                tree.problems.add(lambda: store_evicts("" if store.durability is None else store.durability.evicts))
                yield tree, store
        finally:
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await history.close()


def import_tables() -> None:
    """Import polars and duckdb in this thread: the catalogue and the history store need both soon."""
    with imports_put_aside():
        import_module("polars")
        import_module("duckdb")


async def _check_server(store: RedisStore) -> None:
    """Refuse a server that must not be used now, so that the problem does not first appear with an order."""
    try:
        await store.check()
    except StoreError as error:
        raise StoreError(f"Redis could not be reached: {error}") from error


def seal_of(settings: Settings) -> Seal:
    """Return the encryption of stored secrets that the settings ask for."""
    return Seal(settings.secrets.keys)


def open_store(settings: Settings, data_dir: Path) -> tuple[RedisStore, Child]:
    """Return the store and the child that runs it. The store is an external server given by URL, or our own server in
    the data directory."""
    if settings.redis.url is not None:
        store, server = RedisStore(read_address(settings.redis.url.reveal())), None
    else:
        configured = settings.redis.redis_server
        server = EmbeddedServer(data_dir, find_server_binary(str(configured) if configured is not None else None))
        store = RedisStore(server.address)
    return store, Child(name="store", build=lambda: RedisStoreActor(store, server), policy=FOREVER)
