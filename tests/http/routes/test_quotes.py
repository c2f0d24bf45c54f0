"""GET and POST /api/instruments/ltp, ohlc and quote against rules 1.4.6 and 1.4.7."""

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
from onebroker.actors.quotes.messages import FetchQuote, Found, Touched
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.brokers.records import Tick
from onebroker.config.calendars import always_open
from onebroker.config.instruments import security
from onebroker.config.refusal import Refusal
from onebroker.http.app import build_app
from onebroker.http.services import InstrumentServices
from tests.support.patience import PATIENCE_SECONDS

SHARE = security("nse", "equities", "INFY")
INSTRUMENT = Instrument(
    instrument_id=SHARE.instrument_id, identity=SHARE, name=None, isin=None, lot_size=1, tick_size=0.05,
    freeze_quantity=None, listings={},
)  # fmt: skip
OTHERS = [security("nse", "equities", f"S{number}") for number in range(10)]
LISTED = {
    identity.instrument_id: attrs.evolve(INSTRUMENT, instrument_id=identity.instrument_id, identity=identity)
    for identity in (SHARE, *OTHERS)
}
QUERY = f"instrument_id={SHARE.instrument_id}"
TICK = Tick(broker_token="1", last_price=101.5, open=100.0, high=102.0, low=99.0, previous_close=100.0, volume=7)


class Snapshot:
    def __init__(self, day=date(2026, 11, 20)):
        self.mapping_date = day

    def instrument(self, instrument_id):
        return LISTED.get(instrument_id)

    instrument_once = instrument


@attrs.define
class Market:
    """The routes over a book of our own and a quote actor that answers `answer`."""

    client: object
    headers: dict
    book: QuoteBook
    answer: object = None
    older: object = None
    heard: list = attrs.field(factory=list)
    fetch_seconds: float = 0.0
    most_at_once: int = 0
    mailbox: object = None
    catalogue: object = None

    async def get(self, path, query=QUERY):
        with trio.fail_after(PATIENCE_SECONDS):
            response = await self.client.get(f"/api/instruments/{path}?{query}", headers=self.headers)
        return response.status_code, await response.get_json()

    async def post(self, path, body):
        with trio.fail_after(PATIENCE_SECONDS):
            response = await self.client.post(f"/api/instruments/{path}", json=body, headers=self.headers)
        return response.status_code, await response.get_json()

    async def serve_quotes(self, mailbox):
        mailbox.running = True
        working = []

        async def work(message):
            working.append(message)
            self.most_at_once = max(self.most_at_once, len(working))
            await trio.sleep(self.fetch_seconds)
            working.remove(message)
            done = message.reply.refuse if isinstance(self.answer, Exception) else message.reply.answer
            done(self.answer)

        async with trio.open_nursery() as nursery:
            async for message in mailbox:
                self.heard.append(message)
                if isinstance(message, FetchQuote):
                    nursery.start_soon(work, message)

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
    context = InstrumentServices(
        catalogue=catalogue, catalogue_actor=mappings.address, quotes=reader, quote_book=quotes.address
    )
    app = build_app(attrs.evolve(services, instruments=context))
    market = Market(app.test_client(), {"access-token": token}, book, mailbox=quotes, catalogue=catalogue)
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


async def test_a_quote_book_that_is_not_there_is_a_503_and_never_an_unknown_outcome(market):
    await trio.testing.wait_all_tasks_blocked()
    market.mailbox.stopped()
    assert await market.get("ltp") == (
        503, {"error": "no recent quote is cached, and the quote book gave no answer"},
    )  # fmt: skip
    market.mailbox.running = True

    async def die():
        with trio.fail_after(PATIENCE_SECONDS):
            while not any(isinstance(one, FetchQuote) for one in market.heard):
                await trio.sleep(0.01)
        market.mailbox.stopped()

    market.fetch_seconds = 60
    async with trio.open_nursery() as nursery:
        nursery.start_soon(die)
        status, _ = await market.get("quote")
    assert status == 503


@pytest.mark.parametrize(("path", "fields"), [("ltp", 13), ("ohlc", 5), ("quote", 32)])
async def test_a_list_has_an_entry_for_each_item_with_what_the_get_form_answers(market, services, path, fields):
    market.book.take(SHARE.instrument_id, "zerodha", TICK, services.clock.epoch())
    market.answer = Found(quote=Quote(broker="upstox", tick=TICK, received_at=services.clock.epoch()), source="broker")
    unknown = "00000000-0000-4000-8000-000000000000"
    items = [
        {"instrument_id": SHARE.instrument_id},
        {"exchange": "nse", "segment": "equities", "symbol": "s1"},
        {"instrument_id": unknown},
        {"instrument_id": "x"},
        5,
        {"instrument_id": []},
        {},
        {"instrument_id": SHARE.instrument_id},
    ]
    status, body = await market.post(path, {"instruments": items})
    assert (status, list(body)) == (200, ["results"])
    results = body["results"]
    assert [one["request_index"] for one in results] == list(range(8))
    assert [one["status"] for one in results] == [200, 200, 404, 400, 400, 400, 400, 200]
    assert [len(one["data"]) for one in results if one["status"] == 200] == [fields] * 3
    assert [one["error"] for one in results if one["status"] != 200] == [
        f"no instrument {unknown} is mapped on 2026-11-20",
        "instrument_id must be a UUID",
        "each entry of instruments must be an object",
        "instrument_id must be text, a number or true or false",
        "give instrument_id, or exchange, segment and the identity fields",
    ]
    if path != "ohlc":
        assert [one["data"]["source"] for one in results if one["status"] == 200] == ["cache", "broker", "cache"]
    assert [one.instrument.identity.symbol for one in market.heard if isinstance(one, FetchQuote)] == ["S1"]
    _, alone = await market.get(path)
    if path == "quote":
        alone["unified_at"] = results[0]["data"]["unified_at"]
    assert results[0]["data"] == alone


async def test_of_a_list_at_most_four_are_fetched_at_a_time_and_failures_stand_in_their_entries(market):
    market.answer = Refusal(503, "no recent quote is cached, and every broker failed - zerodha: HTTP 503")
    market.fetch_seconds = 0.02
    status, body = await market.post("ltp", {"instruments": [{"instrument_id": one.instrument_id} for one in OTHERS]})
    assert status == 200
    assert body["results"][9] == {
        "request_index": 9, "status": 503,
        "error": "no recent quote is cached, and every broker failed - zerodha: HTTP 503",
    }  # fmt: skip
    assert market.most_at_once == 4


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ([], "the body must be a JSON object with an instruments list"),
        ({"instrument": []}, "the body must be a JSON object with an instruments list"),
        ({"instruments": []}, "instruments must be a non-empty list"),
        ({"instruments": {}}, "instruments must be a non-empty list"),
        ({"instruments": [{}], "date": []}, "date must be text, a number or true or false"),
    ],
)
async def test_a_body_that_cannot_be_read_refuses_the_whole_list(market, body, sentence):
    assert await market.post("quote", body) == (400, {"error": sentence})


async def test_before_any_mapping_the_whole_list_is_a_503(market):
    market.catalogue.set(CatalogueState(latest=None, published_today=False, reason="no"))
    assert await market.post("ltp", {"instruments": [{}]}) == (503, {"error": "no instruments have been mapped yet"})
    assert await market.get("ltp") == (503, {"error": "no instruments have been mapped yet"})


async def test_details_of_an_older_date_come_from_the_mapping_of_then(market):
    market.older = Snapshot(date(2026, 11, 18))
    response = await market.client.get(f"/api/instruments/details?{QUERY}&date=2026-11-19", headers=market.headers)
    assert (response.status_code, response.headers["X-Mapping-Date"]) == (200, "2026-11-18")


async def test_a_date_before_everything_is_a_404(market):
    assert await market.get("details", f"{QUERY}&date=2026-01-01") == (
        404, {"error": "nothing had been mapped on or before 2026-01-01"},
    )  # fmt: skip
