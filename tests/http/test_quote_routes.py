"""GET /api/instruments/ltp, ohlc and quote against spec 1 §4.7."""

from datetime import date

import attrs
import pytest
import trio
import trio.testing

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.catalogue.messages import GetSnapshot
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.fold import Quote
from onebroker.actors.quotes.messages import FetchQuote, Found, Touched
from onebroker.actors.quotes.reader import Quotes
from onebroker.brokers.records import Tick
from onebroker.config.calendars import always_open
from onebroker.config.instruments import security
from onebroker.config.refusal import Refusal
from onebroker.http.app import build_app
from onebroker.http.services import InstrumentServices

SHARE = security("nse", "equities", "INFY")
INSTRUMENT = Instrument(
    instrument_id=SHARE.instrument_id, identity=SHARE, name=None, isin=None, lot_size=1, tick_size=0.05,
    freeze_quantity=None, listings={},
)  # fmt: skip
QUERY = f"instrument_id={SHARE.instrument_id}"
TICK = Tick(broker_token="1", last_price=101.5, open=100.0, high=102.0, low=99.0, previous_close=100.0, volume=7)


class Snapshot:
    def __init__(self, day=date(2026, 11, 20)):
        self.mapping_date = day

    def instrument(self, instrument_id):
        return INSTRUMENT if instrument_id == SHARE.instrument_id else None


@attrs.define
class Market:
    """The routes over a book of our own and a quote actor that answers `answer`."""

    client: object
    headers: dict
    book: QuoteBook
    answer: object = None
    older: object = None
    heard: list = attrs.field(factory=list)

    async def get(self, path, query=QUERY):
        with trio.fail_after(10):
            response = await self.client.get(f"/api/instruments/{path}?{query}", headers=self.headers)
        return response.status_code, await response.get_json()

    async def serve_quotes(self, mailbox):
        mailbox.running = True
        async for message in mailbox:
            self.heard.append(message)
            if isinstance(message, FetchQuote):
                done = message.reply.refuse if isinstance(self.answer, Exception) else message.reply.answer
                done(self.answer)

    async def serve_mappings(self, mailbox):
        mailbox.running = True
        async for message in mailbox:
            assert isinstance(message, GetSnapshot)
            message.reply.answer(self.older)


@pytest.fixture
async def market(services, token, nursery):
    catalogue = Published(CatalogueState(latest=Snapshot(), published_today=True, reason=""))
    quotes, mappings = open_mailbox("the quote book", capacity=8), open_mailbox("the catalogue", capacity=8)
    book = QuoteBook(("zerodha",))
    reader = Quotes(
        book=Published(book), address=quotes.address, catalogue=catalogue, calendar=always_open(), clock=services.clock
    )
    doors = InstrumentServices(
        catalogue=catalogue, catalogue_actor=mappings.address, quotes=reader, quote_book=quotes.address
    )
    app = build_app(attrs.evolve(services, instruments=doors))
    market = Market(app.test_client(), {"access-token": token}, book)
    nursery.start_soon(market.serve_quotes, quotes)
    nursery.start_soon(market.serve_mappings, mappings)
    return market


async def test_a_stored_quote_is_served_from_the_cache(market, services):
    now = services.clock.epoch()
    market.book.take(SHARE.instrument_id, "zerodha", TICK, now)
    status, body = await market.get("ltp")
    assert status == 200
    assert list(body)[9:] == ["last_price", "last_trade_time", "received_at", "source"]
    assert (body["last_price"], body["received_at"], body["source"]) == (101.5, now, "cache")
    status, body = await market.get("ohlc")
    assert body == {"open": 100.0, "high": 102.0, "low": 99.0, "close": 101.5, "volume": 7}
    status, body = await market.get("quote", "exchange=nse&segment=equities&symbol=infy")
    assert (status, len(body), body["stale"], body["change_percent"]) == (200, 32, False, 1.5)


async def test_reading_an_instrument_makes_it_watched(market, services):
    market.book.take(SHARE.instrument_id, "zerodha", TICK, services.clock.epoch())
    await market.get("ltp")
    await trio.testing.wait_all_tasks_blocked()
    assert market.heard == [Touched(SHARE.instrument_id)]


async def test_without_a_usable_stored_quote_a_broker_is_asked(market, services):
    market.book.take(SHARE.instrument_id, "zerodha", TICK, services.clock.epoch() - 301)
    fetched = Quote(broker="upstox", tick=TICK, received_at=services.clock.epoch())
    market.answer = Found(quote=fetched, source="broker")
    status, body = await market.get("quote")
    assert (status, body["source"], body["broker"]) == (200, "broker", "upstox")


async def test_when_no_broker_gives_one_the_sentence_is_the_actors(market):
    market.answer = Refusal(503, "no recent quote is cached, and every broker failed - zerodha: HTTP 503")
    assert await market.get("quote") == (
        503, {"error": "no recent quote is cached, and every broker failed - zerodha: HTTP 503"},
    )  # fmt: skip


async def test_details_of_an_older_date_come_from_the_mapping_of_then(market):
    market.older = Snapshot(date(2026, 11, 18))
    response = await market.client.get(f"/api/instruments/details?{QUERY}&date=2026-11-19", headers=market.headers)
    assert (response.status_code, response.headers["X-Mapping-Date"]) == (200, "2026-11-18")


async def test_a_date_before_everything_is_a_404(market):
    assert await market.get("details", f"{QUERY}&date=2026-01-01") == (
        404, {"error": "nothing had been mapped on or before 2026-01-01"},
    )  # fmt: skip
