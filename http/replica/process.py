"""A replica as a process: its mirror, its connection to the service, its own stream, and its listener."""

import logging
import signal
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.events import Events, write_to_log
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.actors.token.messages import TokenMessage
from onebroker.config.converters import WrongValueError
from onebroker.config.refusal import Refusal
from onebroker.config.secret_files import read_secret
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.composition import live_services
from onebroker.http.lane.fast_lane import FastLane
from onebroker.http.listener.accept_loop import TlsFiles, serve
from onebroker.http.listener.connect_guard import ConnectGuard
from onebroker.http.listener.connection_limits import Connections, raise_file_limit
from onebroker.http.listener.minute_log import flush_held
from onebroker.http.listener.refused_clients import RefusedClients, Why
from onebroker.http.live.board_writer import FeedSources
from onebroker.http.live.boards import EventBoard
from onebroker.http.live.client_stream import Boards
from onebroker.http.live.open_streams import Streams
from onebroker.http.metrics.registry import Metrics
from onebroker.http.metrics.replica_figures import replica_figures
from onebroker.http.metrics.service_figures import connection_figures, guard_figures, stream_figures
from onebroker.http.replica.link import Link
from onebroker.http.replica.mirror import Mirror
from onebroker.http.replica.routes import names_in, replica_routes
from onebroker.http.replica.service_clock import ServiceClock
from onebroker.http.services import Find, Services

MOST_STREAMS = 1000
MOST_CONNECTIONS = 2000
TOKEN_FILE_SECONDS = 2.0
"""How often to look whether the token file has a new token, while the service takes none."""

log = logging.getLogger("onebroker.replica")


@attrs.frozen(kw_only=True)
class ReplicaOptions:
    service: str
    """Address of the service: `http://` or `https://`, host and port."""
    settings: ServiceSettings
    """Where to listen."""
    tls: ssl.SSLContext | None = None
    """How to check the service's certificate; None: as the system does."""
    token_file: Path | None = None
    """File with the access token, so that the replica need not wait for a client; None: it waits."""
    on_ready: Callable[[str], None] = lambda _address: None
    """Called with the address once the replica answers."""


async def run_replica(options: ReplicaOptions) -> None:
    """Run until SIGINT or SIGTERM. Raises ListenError (in groups)."""
    raise_file_limit()
    clock = ServiceClock()
    refused_clients = RefusedClients(Events(write_to_log))
    connections = Connections(most=MOST_CONNECTIONS, clients=refused_clients)
    shutdown = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_wait_for_signal, shutdown)
        async with open_supervisor(CrashLog(clock)) as supervisor, trio.open_nursery() as serving:
            replica = build_replica(options, clock, refused_clients)
            metrics = replica.services.metrics
            metrics.add(lambda: connection_figures(connections))
            loop_lag = Child(name="loop lag", build=lambda: metrics.loop_lag, policy=FOREVER)
            for child in (*replica.children, loop_lag):
                await supervisor.start(child)

            async def listen(*, task_status: trio.TaskStatus[list[str]]) -> None:
                await serve(
                    build_app(replica.services, replica_routes(replica.mirror, replica.link)),
                    options.settings.host,
                    options.settings.port,
                    shutdown_event=shutdown,
                    connections=connections,
                    lane=FastLane(replica.services, on_answer=metrics.requests.answered)
                    if options.settings.fast_lane
                    else None,
                    tls=_tls_files(options.settings),
                    task_status=task_status,
                )
                serving.cancel_scope.cancel()

            async def end_streams() -> None:
                await shutdown.wait()
                replica.services.required_live().stopping.set()

            addresses = await serving.start(listen)
            serving.start_soon(end_streams)
            serving.start_soon(flush_held, refused_clients.log, connections.no_room)
            options.on_ready(addresses[0])
        nursery.cancel_scope.cancel()


@attrs.frozen(kw_only=True)
class Replica:
    """The parts of a replica that are not sockets of its clients."""

    mirror: Mirror
    link: Link
    services: Services
    children: tuple[Child, ...]
    """To be supervised, in this order."""


def build_replica(options: ReplicaOptions, clock: ServiceClock, refused_clients: RefusedClients) -> Replica:
    """Make the parts and connect them. Nothing runs yet."""
    mirror = Mirror(service=options.service, clock=clock, parents_board=EventBoard("parents"))
    link = Link(mirror, options.tls)
    sources = FeedSources(
        quotes=mirror.quotes,
        catalogue=Published(CatalogueState(latest=None, published_today=False, reason="a replica has no catalogue")),
        documents=mirror.documents,
        parents=None,
        clock=clock,
    )
    live, feeds = live_services(
        sources, partial(_look_up, link), open_streams=_streams, parents_board=mirror.parents_board
    )
    mirror.quotes.on_instrument = live.streams.boards.quotes.rename
    metrics = Metrics()
    nobody: Mailbox[TokenMessage] = open_mailbox("token", capacity=1)  # no route of a replica asks it
    services = Services(
        clock=clock,
        settings=options.settings,
        token=link.token,
        token_actor=nobody.address,
        token_source=link,
        refused_clients=refused_clients,
        connects=ConnectGuard(refused_clients, why=Why.TOKEN),
        actors=dict,
        crashes=tuple,
        store_reachable=lambda: True,
        documents=mirror.documents,
        live=live,
        mirrored_quote=mirror.quotes.stored_quote,
        metrics=metrics,
    )
    metrics.add(lambda: replica_figures(mirror.behind_seconds if mirror.is_heard else None, mirror.documents))
    metrics.add(lambda: stream_figures(live.streams))
    metrics.add(lambda: guard_figures(services.connects.total, services.metrics_readers.total))
    children = [Child(name="link", build=lambda: link, policy=FOREVER), feeds]
    if options.token_file is not None:
        reader = TokenFile(options.token_file, link)
        children.append(Child(name="token file", build=lambda: reader, policy=FOREVER))
    return Replica(mirror=mirror, link=link, services=services, children=tuple(children))


async def _look_up(link: Link, items: Sequence[object]) -> Find:
    """Follow the instruments of a subscription at the service; return what finds them."""
    await link.follow(names_in(items))
    return link.find


def _streams(boards: Boards) -> Streams:
    return Streams(boards, most_streams=MOST_STREAMS, most_connections=MOST_CONNECTIONS)


@attrs.define(eq=False)
class TokenFile:
    """Shows the token of a file to the service, whenever the service takes none and the file has a new one."""

    path: Path
    link: Link
    _tried: str | None = None
    _warned: str = ""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            await self._look()
            await trio.sleep(TOKEN_FILE_SECONDS)

    async def _look(self) -> None:
        if self.link.has_token:
            return
        try:
            token = await trio.to_thread.run_sync(read_secret, self.path)
        except WrongValueError as error:
            self._warn(f"{self.path} {error}")
            return
        if token == self._tried:
            return
        try:
            await self.link.learn(token.encode())
        except Refusal as refused:
            if refused.status == 401:
                self._tried = token
            self._warn(f"the token of {self.path} was not taken: {refused.sentence}")
        else:
            self._warned = ""

    def _warn(self, sentence: str) -> None:
        """Log a sentence, once until something else happens."""
        if sentence != self._warned:
            log.warning(sentence)
            self._warned = sentence


def _tls_files(settings: ServiceSettings) -> TlsFiles | None:
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return TlsFiles(certificate=settings.tls_certificate, key=settings.tls_key)


async def _wait_for_signal(shutdown: trio.Event) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            shutdown.set()
