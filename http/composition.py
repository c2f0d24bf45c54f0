"""Makes the application's `Services` from a running tree: what routes may read and ask, and what health shows."""

from collections.abc import Callable, Sequence
from functools import partial

import trio

from onebroker.actors.audit.open_audit import Audit
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.chain.chains import Chains
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child
from onebroker.actors.store.interface import Store
from onebroker.actors.store.redis import RedisStore
from onebroker.actors.tree import Tree
from onebroker.config.clock import Clock
from onebroker.config.sections import ChainSettings
from onebroker.config.settings import Settings
from onebroker.http.health_parts import health_sources
from onebroker.http.instruments import instrument_names
from onebroker.http.listener.connection_limits import Connections
from onebroker.http.listener.refused_clients import RefusedClients
from onebroker.http.live.board_writer import FeedSources, ReaderSource, StoredParents, StreamFeeds
from onebroker.http.live.boards import DocumentBoard, EventBoard
from onebroker.http.live.chain_board import ChainBoard
from onebroker.http.live.client_stream import Boards
from onebroker.http.live.open_streams import Streams
from onebroker.http.live.quote_board import QuoteBoard
from onebroker.http.metrics.registry import Metrics
from onebroker.http.metrics.sources import add_own_sources, add_sources
from onebroker.http.services import (
    AuditServices,
    Find,
    HistoryServices,
    InstrumentServices,
    LiveServices,
    LoginServices,
    Lookup,
    OrderServices,
    Services,
)


async def start_live(tree: Tree, clock: Clock, store: Store, settings: ChainSettings) -> LiveServices:
    """Start the actor that feeds `/stream`; the tree supervises it."""
    chains = Chains(
        quotes=tree.quotes,
        catalogue=tree.catalogue,
        calendar=tree.calendar,
        clock=clock,
        history=tree.history,
        rate=settings.rate,
    )
    live, feeds = live_services(
        FeedSources(
            quotes=tree.quotes,
            catalogue=tree.catalogue,
            documents=tree.documents,
            parents=StoredParents(changes=tree.parents, store=store),
            clock=clock,
            chains=chains,
        )
    )
    await tree.supervisor.start(feeds)
    return live


def in_catalogue(catalogue: Published[CatalogueState]) -> Lookup:
    """Return what finds instruments in the newest mapping. It raises Refusal 503 if no instruments have ever been mapped."""

    async def look_up(_items: Sequence[object]) -> Find:
        return partial(instrument_names.find, snapshot=instrument_names.mapped(catalogue.value.latest))

    return look_up


def live_services(
    sources: FeedSources,
    look_up: Lookup | None = None,
    *,
    open_streams: Callable[[Boards], Streams] = Streams,
    parents_board: EventBoard | None = None,
) -> tuple[LiveServices, Child]:
    """Return the services of `/stream`, and the actor that feeds them; the actor must be supervised. Without `look_up`, instruments are found in
    the catalogue."""
    boards = Boards(
        quotes=QuoteBoard(ReaderSource(sources.quotes, sources.clock)),
        orders=EventBoard("orders"),
        parents=parents_board or EventBoard("parents"),
        documents=DocumentBoard(sources.clock.epoch),
        chains=ChainBoard(),
    )
    streams = open_streams(boards)
    feeds = Child(name="streams", build=lambda: StreamFeeds(streams, sources), policy=FOREVER)
    live = LiveServices(
        streams=streams,
        stopping=trio.Event(),
        chains=sources.chains,
        look_up=look_up or in_catalogue(sources.catalogue),
    )
    return live, feeds


def build_services(
    tree: Tree,
    settings: Settings,
    clock: Clock,
    store: RedisStore,
    live: LiveServices,
    connections: Connections,
    refused_clients: RefusedClients,
    metrics: Metrics,
    events: Events,
    audit: Audit,
) -> Services:
    """Return what the routes need: from `tree`, from the streams, from the listener's connections, and from the audit. `metrics` reads all of it from now on."""
    add_sources(
        metrics,
        tree,
        clock,
        live.streams,
        connections,
        store_reachable=lambda: store.reachable,
        audit=audit.figures,
        round_trips=store.round_trips,
    )
    services = Services(
        clock=clock,
        settings=settings.service,
        token=tree.token,
        token_actor=tree.token_actor,
        events=events,
        refused_clients=refused_clients,
        actors=lambda: {**tree.supervisor.states(), **audit.actors()},
        crashes=lambda: (*tree.crashes.records(), *audit.crashes()),
        problems=tree.problems.look,
        store_reachable=lambda: store.reachable,
        store_durability=lambda: store.durability_text,
        receivers=tree.receivers,
        audit=AuditServices(folder=audit.folder),
        logins=LoginServices(brokers=tree.brokers, sessions=tree.sessions, store=store),
        health_sources=health_sources(tree, live, connections, audit, clock, store),
        metrics=metrics,
        live=live,
        documents=tree.documents,
        reference=tree.reference,
        instruments=InstrumentServices(
            catalogue=tree.catalogue,
            catalogue_actor=tree.catalogue_actor,
            quotes=tree.quotes,
            quote_book=tree.quote_book,
            chains=live.chains,
        ),
        history=HistoryServices(
            actor=tree.history_actor, store=tree.history, durable=tree.durable, catalogue=tree.catalogue
        ),
        orders=OrderServices(
            brokers=tuple(tree.sessions),
            settings=settings.engine,
            catalogue=tree.catalogue,
            calendar=tree.calendar,
            engine_status=tree.engine_status,
            engine=tree.engine,
            desk=tree.desk,
            halt=tree.halt,
            store=store,
            intent_waits=tree.intent_waits,
        ),
    )
    add_own_sources(
        metrics,
        actors=services.actors,
        crashes=services.crashes,
        connects=services.connects,
        metrics_readers=services.metrics_readers,
    )
    return services
