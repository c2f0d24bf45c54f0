"""What the engine's actors are given: the store, the sessions, the settings. Values and addresses only."""

from collections.abc import Mapping

import attrs

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.choice.failures import OrderFailures
from onebroker.actors.engine.index import Legs
from onebroker.actors.engine.records import ParentRecord
from onebroker.actors.kernel.changes import Changes
from onebroker.actors.kernel.mailbox import Address
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.messages import SessionMessage
from onebroker.actors.sessions.view import SessionView
from onebroker.actors.store.interface import Store
from onebroker.brokers.broker import Broker
from onebroker.config.clock import Clock
from onebroker.config.sections import EngineSettings


@attrs.frozen(kw_only=True)
class SessionDoor:
    """One broker as the engine reaches it."""

    broker: Broker
    address: Address[SessionMessage]
    view: Published[SessionView]


@attrs.frozen(kw_only=True)
class EngineDoors:
    store: Store
    clock: Clock
    settings: EngineSettings
    sessions: Mapping[str, SessionDoor]
    catalogue: Published[CatalogueState]
    legs: Legs
    owner: str
    """The random id kept in the data directory."""
    excluded_brokers: frozenset[str] = frozenset()
    parents: Changes[str, ParentRecord] = attrs.field(factory=Changes)
    """Parents as the store acknowledged them last, by id, for the one who tells clients (`http.streaming`)."""
    failures: OrderFailures = attrs.field(factory=OrderFailures)
