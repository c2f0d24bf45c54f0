"""Who is started, in what order, under which policy. The one place where actors meet; all children but the listener.

Start order is top to bottom, stop order the reverse: documents, catalogue and quotes before the sessions that feed them, the
engine after the sessions it sends through, the desk last. Everything but a document restarts for ever (style 4).
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import attrs

from onebroker.actors.catalogue.actor import CatalogueActor
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.catalogue.messages import CatalogueMessage
from onebroker.actors.engine.actor import EngineActor
from onebroker.actors.engine.desk import DeskActor, DeskMessage
from onebroker.actors.engine.doors import EngineDoors, SessionDoor
from onebroker.actors.engine.index import Legs
from onebroker.actors.engine.messages import EngineMessage, EngineStatus
from onebroker.actors.kernel.mailbox import Address, Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import (
    FOREVER,
    Child,
    CrashLog,
    RestartPolicy,
    Supervisor,
    open_supervisor,
)
from onebroker.actors.portfolio.assembling import Assembler, DocumentState
from onebroker.actors.portfolio.document import DocumentActor
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.actors.portfolio.messages import DocumentMessage
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.positions import PositionsAssembler
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.actors.quotes.actor import QuoteBookActor
from onebroker.actors.quotes.messages import QuoteMessage
from onebroker.actors.sessions.actor import SessionActor, SessionDoors
from onebroker.actors.sessions.in_service import InService
from onebroker.actors.sessions.messages import SessionMessage
from onebroker.actors.sessions.view import SessionView
from onebroker.actors.store.durable import Durable
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.actors.token.actor import TokenActor
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken
from onebroker.brokers.transport.interface import Transport
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.settings import Settings

DOCUMENT_POLICY = RestartPolicy(restarts=None, within_seconds=30.0, most_delay_seconds=5.0)
SESSION_MAILBOX = 512
"""A list of 500 orders asks for room at once; senders of more wait."""
ENGINE_MAILBOX = 512
DESK_MAILBOX = 512
SMALL_MAILBOX = 64
QUOTE_MAILBOX = 256


@attrs.frozen(kw_only=True)
class TreeInputs:
    """What the composition brings along."""

    settings: Settings
    brokers: Mapping[str, InService]
    clock: Clock
    calendar: Calendar
    transport: Transport
    store: Store
    durable: Durable
    data_dir: Path
    owner: str
    """The random id kept in the data directory."""
    store_child: Child | None = None
    """Runs the store, where it needs running (Redis)."""
    seed: int | None = None


@attrs.frozen(kw_only=True)
class Tree:
    """What others read and ask of a running tree."""

    supervisor: Supervisor
    crashes: CrashLog
    token: Published[HeldToken | None]
    token_actor: Address[TokenMessage]
    documents: Mapping[Resource, Published[DocumentState | None]]
    catalogue: Published[CatalogueState]
    catalogue_actor: Address[CatalogueMessage]
    quotes: Address[QuoteMessage]
    quote_book: "QuoteBook"
    sessions: Mapping[str, SessionDoor]
    engine_status: Published[EngineStatus]
    engine: Address[EngineMessage]
    desk: Address[DeskMessage]
    legs: Legs
