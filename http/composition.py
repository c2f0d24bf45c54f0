"""From a running tree to the application's `Services`: what routes may read and ask, and what health shows."""

import attrs

from onebroker.actors.engine.doors import SessionDoor
from onebroker.actors.sessions.view import FeedView
from onebroker.actors.store.interface import Store
from onebroker.actors.tree import Tree
from onebroker.config.clock import Clock, from_epoch, local_text
from onebroker.config.settings import Settings
from onebroker.http.metrics import Metric
from onebroker.http.services import InstrumentServices, OrderServices, Services


def build_services(tree: Tree, settings: Settings, clock: Clock, store: Store) -> Services:
    """Return what the routes need of `tree`."""
    return Services(
        clock=clock,
        settings=settings.service,
        token=tree.token,
        token_actor=tree.token_actor,
        actors=tree.supervisor.states,
        crashes=tree.crashes.records,
        store_reachable=lambda: store.reachable,
        health_sources={
            "brokers": lambda: {code: broker_health(door) for code, door in tree.sessions.items()},
            "engine": lambda: attrs.asdict(tree.engine_status.value),
            "catalogue": lambda: _catalogue_health(tree),
            "documents": lambda: _document_health(tree),
            "reference": lambda: _reference_health(tree),
        },
        metric_sources=(lambda: _document_metrics(tree),),
        documents=tree.documents,
        reference=tree.reference,
        instruments=InstrumentServices(
            catalogue=tree.catalogue,
            catalogue_actor=tree.catalogue_actor,
            quotes=tree.quotes,
            quote_book=tree.quote_book,
        ),
        orders=OrderServices(
            brokers=tuple(tree.sessions),
            settings=settings.engine,
            catalogue=tree.catalogue,
            engine_status=tree.engine_status,
            engine=tree.engine,
            desk=tree.desk,
            store=store,
        ),
    )


def broker_health(door: SessionDoor) -> dict[str, object]:
    """Return one broker's state for `/api/health`: its login, feeds, failing reads and room left.

    `order_feed` is null where the market feed carries the order updates, or where there is none.
    """
    view = door.view.value
    return {
        "login": view.login.value,
        "trouble": view.trouble,
        "read_errors": dict(view.read_errors),
        "contradictions": view.contradictions,
        "market_feed": _feed(view.market_feed),
        "order_feed": None if door.broker.order_feed is None else _feed(view.order_feed),
        "room": None if view.room is None else attrs.asdict(view.room),
    }


def _feed(feed: FeedView) -> dict[str, object]:
    last = feed.last_frame_at
    return {**attrs.asdict(feed), "last_frame_at": None if last is None else local_text(from_epoch(last))}


def _catalogue_health(tree: Tree) -> dict[str, object]:
    state = tree.catalogue.value
    mapping_date = None if state.latest is None else state.latest.mapping_date.isoformat()
    return {"mapping_date": mapping_date, "published_today": state.published_today, "reason": state.reason}


def _document_health(tree: Tree) -> dict[str, object]:
    return {
        resource: None if (state := published.value) is None else state.as_of
        for resource, published in tree.documents.items()
    }


def _reference_health(tree: Tree) -> dict[str, object]:
    """How many documents each collection holds, and what keeps them from being read; never their contents."""
    state = tree.reference.value
    counts: dict[str, object] = {collection: documents.count for collection, documents in state.documents.items()}
    return {**counts, "profiles": state.profiles is not None, "trouble": state.trouble}


def _document_metrics(tree: Tree) -> list[Metric]:
    states = {resource: published.value for resource, published in tree.documents.items()}
    built = [(resource, state) for resource, state in states.items() if state is not None]
    return [
        Metric(
            name="onebroker_document_published_seconds",
            kind="gauge",
            doc="Monotonic time of a document's last publication.",
            samples=tuple(({"document": resource}, state.published_monotonic) for resource, state in built),
        ),
        Metric(
            name="onebroker_document_build_seconds",
            kind="gauge",
            doc="How long a document's last build took.",
            samples=tuple(({"document": resource}, state.build_seconds) for resource, state in built),
        ),
    ]
