"""GET /api/instruments/details, and naming an instrument on every route that names one, against rules 1.4.4, 1.4.5 and 1.7.3."""

from datetime import date
from urllib.parse import urlencode

import attrs
import pytest

from onebroker.actors.catalogue.interface import NOT_MAPPED, CatalogueState, Instrument
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.reader import Quotes
from onebroker.brokers.records import Listing
from onebroker.config.calendars import always_open
from onebroker.config.instruments import option, security
from onebroker.http.app import build_app
from onebroker.http.services import InstrumentServices
from tests.support.every_case import every_case

SHARE = security("nse", "equities", "M&M")
CALL = option("nse", "equity_options", "INFY", date(2026, 11, 26), 1500.5, "CE")
UUID = "00000000-0000-5000-8000-000000000000"
OPTION = {
    "exchange": "nse", "segment": "equity_options", "underlying_symbol": "infy", "expiry_date": "2026-11-26",
    "strike_price": "1500.50", "option_type": "ce",
}  # fmt: skip
NEEDS_ALL = "a option segment needs underlying_symbol, expiry_date, strike_price, option_type"


class Snapshot:
    mapping_date = date(2026, 11, 20)

    def __init__(self):
        listing = Listing(broker_token="1", tradingsymbol="M&M", exchange="NSE", lot_size=1, tick_size=0.05)
        self.held = {
            identity.instrument_id: Instrument(
                instrument_id=identity.instrument_id, identity=identity, name="MAHINDRA", isin="INE101A01026", lot_size=1,
                tick_size=0.05, freeze_quantity=None, listings={"zerodha": listing},
            )
            for identity in (SHARE, CALL)
        }  # fmt: skip

    def instrument(self, instrument_id):
        return self.held.get(instrument_id)


def instruments(services, state):
    catalogue = Published(state)
    book = open_mailbox("the quote book", capacity=8).address
    quotes = Quotes(
        book=Published(QuoteBook(())), address=book, catalogue=catalogue, calendar=always_open(), clock=services.clock
    )
    return attrs.evolve(
        services,
        instruments=InstrumentServices(
            catalogue=catalogue, catalogue_actor=open_mailbox("the catalogue", capacity=8).address, quotes=quotes,
            quote_book=book,
        ),
    )  # fmt: skip


@pytest.fixture
def ask(services, token):
    """Ask for a path of `/api/instruments/` over a mapping of two instruments, or over `state`."""
    mapped = CatalogueState(latest=Snapshot(), published_today=True, reason="")
    apps = []

    def app_over(state):
        """Each is made once: the forty paths of an application cost more than a request."""
        if not any(held is state for held, _ in apps):
            apps.append((state, build_app(instruments(services, state))))
        return next(app for held, app in apps if held is state)

    async def send(query, path="details", state=mapped, headers=None):
        client = app_over(state).test_client()
        query = query if isinstance(query, str) else urlencode(query)
        headers = {"access-token": token} if headers is None else headers
        return await client.get(f"/api/instruments/{path}?{query}", headers=headers)

    return send


async def refusal(response):
    assert response.content_type == "application/json"
    body = await response.get_json()
    assert list(body) == ["error"]
    return response.status_code, body["error"]


async def test_an_instrument_is_answered_by_its_id_with_its_brokers(ask):
    response = await ask({"instrument_id": SHARE.instrument_id})
    assert response.status_code == 200
    assert response.headers["X-Mapping-Date"] == "2026-11-20"
    body = await response.get_json()
    assert list(body) == [
        "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
        "option_type", "name", "isin", "lot_size", "tick_size", "freeze_quantity", "brokers",
    ]  # fmt: skip
    assert (body["instrument_id"], body["segment"], body["symbol"]) == (SHARE.instrument_id, "nse_equities", "M&M")
    assert body["brokers"] == {
        "zerodha": {"broker_token": "1", "tradingsymbol": "M&M", "exchange": "NSE", "lot_size": 1, "tick_size": 0.05}
    }


@every_case(
    "query",
    [
        {"instrument_id": CALL.instrument_id.upper()},
        {"instrument_id": CALL.instrument_id, "exchange": "nonsense"},
        OPTION,
        OPTION | {"segment": "nse_equity_options", "strike_price": "1500.5"},
        OPTION | {"instrument_id": " "},
        OPTION | {"symbol": "ignored"},
    ],
)
async def test_both_spellings_name_the_same_option(ask, query):
    response = await ask(query)
    assert response.status_code == 200
    assert (await response.get_json())["instrument_id"] == CALL.instrument_id


@every_case("path", ["details", "additional_details", "ltp", "ohlc", "quote"])
@every_case(
    ("query", "sentence"),
    [
        ({"instrument_id": "12"}, "instrument_id must be a UUID"),
        ({"instrument_id": UUID.replace("-", "")}, "instrument_id must be a UUID"),
        ({"instrument_id": "x", "exchange": "nonsense"}, "instrument_id must be a UUID"),
        ({}, "give instrument_id, or exchange, segment and the identity fields"),
        ({"exchange": ""}, "give instrument_id, or exchange, segment and the identity fields"),
        ({"symbol": "INFY"}, "exchange is required"),
        ({"exchange": "nse"}, "segment is required"),
        ({"exchange": "nyse"}, "exchange must be one of nse, bse, mcx, ncdex, unknown"),
        (
            {"exchange": "nse", "segment": "stocks"},
            "segment stocks is not a segment of nse; see /api/instruments/segments",
        ),
        (
            {"exchange": "nse", "segment": "bse_equities", "symbol": "INFY"},
            "segment bse_equities is not a segment of nse; see /api/instruments/segments",
        ),
        (
            {"exchange": "mcx", "segment": "equities", "symbol": "INFY"},
            "segment equities is not a segment of mcx; see /api/instruments/segments",
        ),
        ({"exchange": "nse", "segment": "equities"}, "a security segment needs symbol"),
        (
            {"exchange": "nse", "segment": "equity_futures", "underlying_symbol": "INFY"},
            "a future segment needs underlying_symbol, expiry_date",
        ),
        (OPTION | {"option_type": ""}, NEEDS_ALL),
        (OPTION | {"expiry_date": "26-11-2026"}, "expiry_date must be a date in YYYY-MM-DD format"),
        (OPTION | {"expiry_date": "2026-02-30"}, "expiry_date must be a date in YYYY-MM-DD format"),
        (OPTION | {"strike_price": "abc"}, "strike_price must be a number"),
        (OPTION | {"strike_price": "nan"}, "strike_price must be a number"),
        (OPTION | {"strike_price": "1e999"}, "strike_price must be a number"),
        (OPTION | {"strike_price": "1_000"}, "strike_price must be a number"),
        (OPTION | {"option_type": "CALL"}, "option_type must be CE or PE"),
    ],
)
async def test_a_wrong_name_is_refused_before_anything_is_read(ask, path, query, sentence):
    # Without any mapping: a name is judged first.
    assert await refusal(await ask(query, path, NOT_MAPPED)) == (400, sentence)


@every_case("path", ["details", "additional_details", "ltp", "ohlc", "quote"])
@every_case(
    ("query", "name"),
    [
        ({"instrument_id": UUID}, UUID),
        ({"exchange": "nse", "segment": "equities", "symbol": "none"}, "nse nse_equities NONE"),
        (OPTION | {"strike_price": "100"}, "nse nse_equity_options INFY 2026-11-26 100 CE"),
    ],
)
async def test_an_instrument_that_is_not_mapped_is_a_404(ask, path, query, name):
    assert await refusal(await ask(query, path)) == (404, f"no instrument {name} is mapped on 2026-11-20")


@pytest.mark.parametrize("path", ["details", "additional_details", "ltp", "ohlc", "quote"])
async def test_before_the_first_mapping_it_is_a_503(ask, path):
    answer = await refusal(await ask({"instrument_id": UUID}, path, NOT_MAPPED))
    assert answer == (503, "no instruments have been mapped yet")


@pytest.mark.parametrize("path", ["details", "additional_details", "ltp", "ohlc", "quote"])
async def test_the_token_comes_first(ask, path):
    assert await refusal(await ask({}, path, headers={})) == (401, "Access token is required")


@pytest.mark.parametrize("day", ["2026-11-20", "2031-01-01"])
async def test_a_date_on_or_after_the_latest_mapping_means_the_latest(ask, day):
    response = await ask({"instrument_id": SHARE.instrument_id, "date": day})
    assert (response.status_code, response.headers["X-Mapping-Date"]) == (200, "2026-11-20")


async def test_a_malformed_date_is_refused(ask):
    answer = await refusal(await ask({"instrument_id": SHARE.instrument_id, "date": "yesterday"}))
    assert answer == (400, "date must be a date in YYYY-MM-DD format")


async def test_symbols_with_reserved_characters_can_be_asked_for(ask):
    response = await ask({"exchange": "nse", "segment": "equities", "symbol": "m&m"})
    assert (await response.get_json())["instrument_id"] == SHARE.instrument_id
