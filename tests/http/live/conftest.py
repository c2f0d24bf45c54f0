"""The stream over what actors would publish: a quote book, documents, parents in a store in memory, and the token actor.

`live` is everything; `live.talk(...)` is a client without a socket, `live.wire` the endpoint's end of it.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import date
from functools import cached_property
from typing import Any

import attrs
import msgspec
import pytest
import trio
from quart_trio import QuartTrio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.chain.chains import Chains
from onebroker.actors.engine.orders.parent_records import ParentRecord, ParentState, encode_parent
from onebroker.actors.kernel.conflation import Changes
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import Supervisor
from onebroker.actors.portfolio.assembler import Content, DocumentState, document_body
from onebroker.actors.portfolio.order_book import OrderView
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.messages import QuoteMessage
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, SetAdd, SetRemove
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.records import Tick
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock, from_epoch, local_text
from onebroker.config.instruments import security
from onebroker.http.app import build_app
from onebroker.http.composition import live_services
from onebroker.http.live.board_writer import FeedSources, StoredParents
from onebroker.http.routes.stream_endpoint import Close, converse
from onebroker.http.services import InstrumentServices, Services
from tests.support.described import check_message

SYMBOLS = ("INFY", "TCS", "SBIN")


def instrument(symbol: str) -> Instrument:
    identity = security("nse", "equities", symbol)
    return Instrument(
        instrument_id=identity.instrument_id,
        identity=identity,
        name=None,
        isin=None,
        lot_size=1,
        tick_size=0.05,
        freeze_quantity=None,
        listings={},
    )


@attrs.frozen
class Mapped:
    instruments: Mapping[str, Instrument]
    mapping_date: date = date(2026, 11, 20)

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self.instruments.get(instrument_id)


def order(order_id: str, status: str, **changed: Any) -> OrderView:
    text = dict.fromkeys(("exchange_order_id", "parent_order_id", "status_message", "tag", "instrument_id"))
    engine = dict.fromkeys(("engine_parent_id", "synthetic_type", "intent_id", "leg_role"))
    naming = {"id": "1", "instrument_token": "1", "tradingsymbol": "INFY", "exchange": "NSE"}
    terms = {"transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT", "validity": "DAY"}
    zeros = (
        "filled_quantity",
        "pending_quantity",
        "cancelled_quantity",
        "disclosed_quantity",
        "price",
        "trigger_price",
    )
    row: dict[str, Any] = {**text, **engine, **naming, **terms, **dict.fromkeys(zeros, 0), "average_price": 0.0}
    row |= {"quantity": 1, "order_timestamp": None, "exchange_timestamp": None, **changed}
    return OrderView(broker="zerodha", order_id=order_id, status=status, **row)


class Wire:
    """The endpoint's end of a WebSocket, and the client's."""

    def __init__(self) -> None:
        self._to_server = trio.open_memory_channel[str | bytes](100)
        self._to_client = trio.open_memory_channel[str](0)
        self.header: bytes | None = None
        self.closed: Close | None = None
        self.over = trio.Event()
        self.heard: list[Any] = []

    async def receive(self) -> str | bytes:
        return await self._to_server[1].receive()

    async def send(self, text: str) -> None:
        await self._to_client[0].send(text)

    async def say(self, message: object) -> None:
        await self._to_server[0].send(
            message if isinstance(message, str | bytes) else msgspec.json.encode(message).decode()
        )

    async def hear(self) -> Any:
        """Return the next message; it has the number after the one before it, and the stream's document has it.

        Documents and orders have fields of the tests' own here; tests/demo/test_stream.py checks theirs.
        """
        message = msgspec.json.decode(await self._to_client[1].receive())
        if message["type"] not in ("document", "orders"):
            check_message(message)
        assert message["seq"] == (self.heard[-1]["seq"] if self.heard else 0) + 1
        self.heard.append(message)
        return message

    async def hear_kind(self, kind: str) -> Any:
        """Return the next message of a kind; what comes before it is thrown away."""
        while (message := await self.hear())["type"] != kind:
            pass
        return message

    async def ask(self, message: Mapping[str, Any], kind: str) -> Any:
        await self.say(message)
        return await self.hear_kind(kind)


@attrs.define
class Live:
    services: Services
    sources: FeedSources
    store: MemoryStore
    clock: Clock
    token: str
    shares: Mapping[str, Instrument]
    book: QuoteBook
    supervisor: Supervisor
    order: Callable[..., OrderView] = order

    @cached_property
    def app(self) -> QuartTrio:
        """Made for those who serve it; a talk needs none."""
        return build_app(self.services)

    async def with_chains(self, chains: Chains) -> "Live":
        """Return the same stream, which streams option chains too."""
        await self.stop_feeds()
        served, feeds = live_services(attrs.evolve(self.sources, chains=chains))
        await self.supervisor.start(attrs.evolve(feeds, name="streams with chains"))
        instruments = attrs.evolve(self.services.required_instruments(), chains=chains)
        return attrs.evolve(self, services=attrs.evolve(self.services, live=served, instruments=instruments))

    async def stop_feeds(self) -> None:
        await self.supervisor.stop_child("streams")

    @asynccontextmanager
    async def talk(self, *, header: bool = True, token: str | None = None) -> AsyncIterator[Wire]:
        """A client; the connection is cut at the end of the block."""
        wire = Wire()
        wire.header = (self.token if token is None else token).encode() if header else None

        async def run() -> None:
            wire.closed = await converse(wire, wire.header, self.services)
            wire.over.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            yield wire
            nursery.cancel_scope.cancel()

    def tick(self, symbol: str, price: float, **more: Any) -> None:
        share = self.shares[symbol]
        tick = Tick(broker_token="1", last_price=price, **more)
        assert self.book.take(share.instrument_id, "zerodha", tick, self.clock.epoch())

    def publish(self, resource: keys.Resource, fields: object, rows: tuple[Any, ...] = (), status: Any = None) -> None:
        """Publish a document with these members."""
        now = self.clock.epoch()
        as_of = local_text(from_epoch(now))
        content = Content(pieces=(msgspec.json.encode(fields)[1:-1],), rows=rows, summary=b"{}")
        self.sources.documents[resource].set(
            DocumentState(
                resource=resource,
                body=document_body(content, b"[]", as_of),
                as_of=as_of,
                as_of_epoch=now,
                published_monotonic=self.clock.monotonic(),
                brokers=b"[]",
                reads=() if status is None else (status,),
                usable_brokers=True,
                content=content,
                build_seconds=0.0,
                gap_seconds=None,
            )
        )

    def publish_orders(self, *rows: OrderView) -> None:
        self.publish("orders", {"orders": rows, "summary": {"count": len(rows)}}, rows)

    async def save(self, record: ParentRecord) -> None:
        """Write a parent as the engine does, and tell of it."""
        parent_id = record.parent_order_id
        change = SetRemove if record.state.final else SetAdd
        await self.store.write(Set(keys.parent(parent_id), encode_parent(record)), change(keys.OPEN_PARENTS, parent_id))
        self.sources.parents.changes.note(parent_id, record)

    def parent(self, parent_id: str, state: ParentState, updated_at: float = 1.0) -> ParentRecord:
        return ParentRecord(
            parent_order_id=parent_id,
            synthetic_type="simple",
            routed_from=None,
            state=state,
            instrument_id="i",
            intent_id="n",
            created_at=1.0,
            updated_at=updated_at,
            deadline=2.0,
            body={},
            parameters={},
            tag=None,
        )


@pytest.fixture
async def live(house, token: str) -> Live:
    """The feeds run, supervised like the token actor."""
    clock, store = house.services.clock, house.store
    shares = {symbol: instrument(symbol) for symbol in SYMBOLS}
    mapped = Mapped({one.instrument_id: one for one in shares.values()})
    catalogue = Published(CatalogueState(latest=mapped, published_today=True, reason=""))
    address = open_mailbox("quotes", capacity=1, message=QuoteMessage).address
    book = QuoteBook(("zerodha", "upstox"))
    quotes = Quotes(book=Published(book), address=address, catalogue=catalogue, calendar=always_open(), clock=clock)
    sources = FeedSources(
        quotes=quotes,
        catalogue=catalogue,
        documents={resource: Published(None) for resource in keys.RESOURCES},
        parents=StoredParents(changes=Changes(), store=store),
        clock=clock,
    )
    served, feeds = live_services(sources)
    await house.supervisor.start(feeds)
    instruments = InstrumentServices(
        catalogue=catalogue,
        catalogue_actor=open_mailbox("catalogue", capacity=1).address,
        quotes=quotes,
        quote_book=address,
    )
    services = attrs.evolve(house.services, live=served, instruments=instruments)
    return Live(services, sources, store, clock, token, shares, book, house.supervisor)
