"""Candles and ticks over HTTP: every sentence in its order, the answer's shape, streaming, and instruments no longer listed."""

import json
from contextlib import aclosing
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import attrs
import polars as pl
import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Found, Instrument
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.duck import FIRST_TICKS, DuckHistory
from onebroker.actors.history.interface import CANDLE_SCHEMA, MOST_TICKS, TICK_SCHEMA, HistoryError
from onebroker.actors.history.messages import TakeFile, TakeRename
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import DurableError, MemoryDurable
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.instruments import future, security
from onebroker.http.app import build_app
from onebroker.http.services import HistoryServices
from tests.support.every_case import every_case
from tests.support.patience import PATIENCE_SECONDS

DAY = date(2026, 11, 20)
SHARE = security("nse", "equities", "INFY")
INDEX = security("nse", "equity_indices", "NIFTY 50")
RUPEE = security("nse", "currencies", "USDINR")
GONE = future("nse", "equity_index_futures", "NIFTY", date(2024, 1, 25))
ENTERED = security("nse", "equities", "OLDCO")
NOWHERE = security("nse", "equities", "NOWHERE")
LISTED = (SHARE, INDEX, RUPEE)
MINUTE = 60_000_000

INTERVALS = ("day, 1minute, 2minute, 3minute, 4minute, 5minute, 10minute, 15minute, 20minute, 25minute, 30minute, "
             "45minute, 60minute, 120minute, 180minute, 240minute")  # fmt: skip


def at(*moment):
    return int(datetime(*moment, tzinfo=IST).timestamp() * 1_000_000)


def instrument(identity):
    return Instrument(
        instrument_id=identity.instrument_id, identity=identity, name=None, isin=None, lot_size=None, tick_size=None,
        freeze_quantity=None, listings={},
    )  # fmt: skip


def snapshot():
    known = {one.instrument_id: instrument(one) for one in LISTED}
    return SimpleNamespace(mapping_date=DAY, instrument=known.get)


def unlisted():
    known = {GONE.instrument_id: Found(instrument=instrument(GONE), mapping_date=date(2024, 1, 25))}
    return SimpleNamespace(count=1, find=known.get)


def candle(identity, time, minutes=1440, close=100.0, volume=10):
    return {"instrument_id": identity.instrument_id, "minutes": minutes, "time": time, "open": close, "high": close,
            "low": close, "close": close, "volume": volume, "oi": None}  # fmt: skip


def tick(identity, time, last_price=100.0, **given):
    empty = dict.fromkeys(TICK_SCHEMA)
    known = {
        "instrument_id": identity.instrument_id,
        "sequence": 0,
        "time": time,
        "broker": "zerodha",
        "last_price": last_price,
    }
    return empty | known | given


@attrs.define
class HistoryHouse:
    client: object
    headers: dict
    store: DuckHistory
    durable: MemoryDurable
    catalogue: Published
    folder: object
    clock: object
    actor: object
    put: int = 0

    def staged(self, rows, schema):
        self.put += 1
        path = self.folder / f"{self.put}.parquet"
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
        return path

    async def candles(self, *rows):
        await self.store.put_candles(self.staged(list(rows), CANDLE_SCHEMA))

    async def ticks(self, *rows):
        await self.store.put_ticks(self.staged(list(rows), TICK_SCHEMA))

    async def many_ticks(self, identity, count):
        times = pl.Series("time", range(at(2026, 11, 20, 9, 15), at(2026, 11, 20, 9, 15) + count))
        one = pl.DataFrame([tick(identity, 0)], schema=TICK_SCHEMA, orient="row")
        path = self.folder / "many.parquet"
        pl.concat([one] * count).with_columns(times).write_parquet(path)
        await self.store.put_ticks(path)

    async def get(self, kind, **query):
        query = {name.rstrip("_"): value for name, value in query.items()}
        response = await self.client.get(f"/api/instruments/{kind}", query_string=query, headers=self.headers)
        return response.status_code, await response.get_json()

    async def post(self, kind, **body):
        body = {name.rstrip("_"): value for name, value in body.items()}
        response = await self.client.post(f"/api/instruments/{kind}", json=body, headers=self.headers)
        return response.status_code, await response.get_json()


@pytest.fixture
async def history(house, token, nursery, tmp_path):
    store, durable = DuckHistory(tmp_path / "h" / "history.duckdb", memory_limit="256MB"), MemoryDurable()
    mailbox = open_mailbox("history", capacity=8)
    mailbox.running = True
    catalogue = Published(CatalogueState(latest=snapshot(), published_today=True, reason="", unlisted=unlisted()))
    actor = HistoryActor(
        mailbox=mailbox, store=store, durable=durable, catalogue=catalogue, clock=house.services.clock,
        calendar=calendar_from_documents(exchange_documents()),
    )  # fmt: skip
    await nursery.start(actor.run)
    doors = HistoryServices(actor=mailbox.address, store=store, durable=durable, catalogue=catalogue)
    app = build_app(attrs.evolve(house.services, history=doors))
    yield HistoryHouse(app.test_client(), {"access-token": token}, store, durable, catalogue, tmp_path,
                       house.services.clock, mailbox.address)  # fmt: skip
    nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True):
        await store.close()


NAMED = {"instrument_id": SHARE.instrument_id}
RANGE = {"interval": "day", "from_": "2026-11-01", "to": "2026-11-20"}


# Sentences of candles


@every_case(
    ("query", "sentence"),
    [
        ({}, "interval is required"),
        ({"interval": "7minute", "days": "x"}, f"interval must be one of {INTERVALS}"),
        ({"interval": "day"}, "from and to are required, or days"),
        ({"interval": "day", "from_": "2026-11-01"}, "from and to are required, or days"),
        ({"interval": "day", "days": "5", "to": "x"}, "give either from and to, or days"),
        ({"interval": "day", "days": "1.5"}, "days must be a whole number"),
        ({"interval": "day", "days": "0", "adjusted": "x"}, "days must be between 1 and 36500"),
        ({"interval": "day", "days": "36501"}, "days must be between 1 and 36500"),
        ({"interval": "day", "from_": "2026-13-01", "to": "x"}, "from must be a date in YYYY-MM-DD format"),
        ({"interval": "day", "from_": "2026-11-01", "to": "1-1-2026"}, "to must be a date in YYYY-MM-DD format"),
        ({"interval": "day", "from_": "2026-11-02", "to": "2026-11-01", "adjusted": "x"}, "to must not be before from"),
        ({"interval": "1minute", "days": "367", "adjusted": "x"}, "an intraday range may span at most 366 days"),
        ({**RANGE, "adjusted": "maybe", "known_as_of": "x"}, "adjusted must be true or false"),
        ({**RANGE, "known_as_of": "yesterday"}, "known_as_of must be a date in YYYY-MM-DD format"),
        ({**RANGE}, "give instrument_id, or exchange, segment and the identity fields"),
        ({**RANGE, "instrument_id": "x"}, "instrument_id must be a UUID"),
        ({**RANGE, "exchange": "nse", "segment": "equities"}, "a security segment needs symbol"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_a_request_for_candles_is_said_in_order(history, query, sentence):
    history.catalogue.set(CatalogueState(latest=None, published_today=False, reason=""))  # nothing is read before
    assert await history.get("prices", **query) == (400, {"error": sentence})
    named = {**NAMED, **query} if "exchange" not in query else query
    if "instrument" not in sentence and "needs" not in sentence:
        body = {name.rstrip("_"): value for name, value in named.items() if name != "instrument_id"}
        answer = await history.post("prices", instruments=[NAMED], **body)
        assert answer == (400, {"error": sentence})


async def test_no_instruments_ever_mapped_is_a_503_and_an_unknown_one_a_404(history):
    status, answer = await history.get("prices", **RANGE, instrument_id=NOWHERE.instrument_id)
    assert (status, answer) == (404, {"error": f"no instrument {NOWHERE.instrument_id} is mapped on 2026-11-20"})
    status, answer = await history.get("ticks", start="2026-11-20", end="2026-11-21", exchange="nse",
                                       segment="nse_equities", symbol="nowhere")  # fmt: skip
    assert (status, answer) == (404, {"error": "no instrument nse nse_equities NOWHERE is mapped on 2026-11-20"})
    history.catalogue.set(CatalogueState(latest=None, published_today=False, reason=""))
    for method, given in ((history.get, NAMED), (history.post, {"instruments": [NAMED]})):
        assert await method("prices", **RANGE, **given) == (503, {"error": "no instruments have been mapped yet"})
        period = {"start": "2026-11-20", "end": "2026-11-21"}
        assert await method("ticks", **period, **given) == (503, {"error": "no instruments have been mapped yet"})


# Candles


async def test_candles_come_with_identity_range_basis_and_columns(history):
    await history.candles(candle(SHARE, at(2026, 11, 19), close=100.005, volume=None), candle(SHARE, at(2026, 11, 20)),
                          candle(SHARE, at(2026, 10, 31)), candle(SHARE, at(2026, 11, 21)))  # fmt: skip
    status, answer = await history.get("prices", **RANGE, **NAMED)
    assert status == 200
    assert answer == {
        **SHARE.fields(), "interval": "day", "from": "2026-11-01", "to": "2026-11-20", "adjustable": True,
        "price_basis": "adjusted", "known_as_of": None, "source": "database",
        "columns": ["time", "open", "high", "low", "close", "volume", "oi", "price_factor"],
        "candles": [["2026-11-19T00:00:00+05:30", 100.01, 100.01, 100.01, 100.01, None, None, 1.0],
                    ["2026-11-20T00:00:00+05:30", 100.0, 100.0, 100.0, 100.0, 10, None, 1.0]],
    }  # fmt: skip
    assert list(answer) == [*SHARE.fields(), "interval", "from", "to", "adjustable", "price_basis", "known_as_of",
                            "source", "columns", "candles"]  # fmt: skip
    again = (await history.get("prices", **RANGE, **NAMED))[1]
    assert (again.pop("source"), answer.pop("source")) == ("cache", "database")
    assert again == answer


def minute(identity, number, close, day=20, **given):
    """The candle of a minute of a day after 09:15."""
    time = at(2026, 11, day, 9, 15) + number * MINUTE
    return candle(identity, time, 1, close) | {"high": close + 1, "low": close - 1} | given


async def prices_of(history, interval, identity=SHARE, **query):
    query = {"from_": "2026-11-19", "to": "2026-11-20", "adjusted": "no"} | query
    status, answer = await history.get("prices", interval=interval, instrument_id=identity.instrument_id, **query)
    assert status == 200
    return [[row[0][8:16], *row[1:]] for row in answer["candles"]], answer["source"]


async def test_an_interval_that_is_not_stored_is_made_of_minutes(history):
    rows = [minute(SHARE, number, 100.0 + number, oi=number) for number in (0, 1, 4, 5, 374)]
    await history.candles(*rows)
    assert (await prices_of(history, "5minute"))[0] == [
        ["20T09:15", 100.0, 105.0, 99.0, 104.0, 30, 4], ["20T09:20", 105.0, 106.0, 104.0, 105.0, 10, 5],
        ["20T15:25", 474.0, 475.0, 473.0, 474.0, 10, 374],
    ]  # fmt: skip
    assert [row[0] for row in (await prices_of(history, "60minute"))[0]] == ["20T09:15", "20T15:15"]
    assert (await prices_of(history, "day"))[0] == [["20T00:00", 100.0, 475.0, 99.0, 474.0, 50, 374]]
    assert len((await prices_of(history, "1minute"))[0]) == 5


async def test_stored_candles_of_a_day_win_over_its_minutes(history):
    await history.candles(*(minute(SHARE, number, 100.0 + number, day) for day in (19, 20) for number in range(10)))
    await history.candles(candle(SHARE, at(2026, 11, 19), close=77.0), candle(SHARE, at(2026, 11, 20, 9, 20), 5, 88.0))
    assert [row[:5:4] for row in (await prices_of(history, "day"))[0]] == [["19T00:00", 77.0], ["20T00:00", 109.0]]
    fives, _ = await prices_of(history, "5minute")
    assert [row[:5:4] for row in fives] == [["19T09:15", 104.0], ["19T09:20", 109.0], ["20T09:20", 88.0]]


async def test_candles_made_of_minutes_are_cached_adjusted_and_read_anew_after_a_load(history):
    await history.candles(*(minute(SHARE, number, 500.0, day) for day in (19, 20) for number in range(10)))
    split = Factor(instrument_id=SHARE.instrument_id, ex_date=date(2026, 11, 20), kind="split",
                   price_factor=Decimal("0.2"), volume_factor=Decimal(5), source="test")  # fmt: skip
    await history.durable.put_factors([split])
    made, source = await prices_of(history, "10minute", adjusted="yes")
    assert (made, source) == ([["19T09:15", 100.0, 100.2, 99.8, 100.0, 500, None, 0.2],
                               ["20T09:15", 500.0, 501.0, 499.0, 500.0, 100, None, 1.0]], "database")  # fmt: skip
    again, source = await prices_of(history, "10minute", adjusted="yes", from_="2026-11-20")
    assert (again, source) == (made[1:], "cache")
    file = history.staged([candle(SHARE, at(2026, 11, 20, 9, 15), 10, 88.0)], CANDLE_SCHEMA)
    await history.actor.ask(lambda reply: TakeFile("candles", file, reply), PATIENCE_SECONDS)
    loaded, source = await prices_of(history, "10minute", adjusted="yes")
    assert ([row[4] for row in loaded], source) == ([100.0, 88.0], "database")


async def test_days_are_counted_back_from_today_with_both_ends(history):
    today = history.clock.today()
    await history.candles(*(candle(SHARE, at(*(today - timedelta(days=back)).timetuple()[:3])) for back in range(33)))
    status, answer = await history.get("prices", interval="day", days="30", **NAMED)
    assert (status, len(answer["candles"])) == (200, 31)
    assert (answer["from"], answer["to"]) == (str(today - timedelta(days=30)), str(today))


async def test_an_intraday_range_may_span_366_days_and_a_day_range_a_century(history):
    span = {"from_": "2025-11-19", "to": "2026-11-20"}
    assert (await history.get("prices", interval="1minute", **span, **NAMED))[0] == 200
    assert (await history.get("prices", interval="day", from_="0001-01-01", to="9999-12-31", **NAMED))[0] == 200
    assert (await history.get("prices", interval="day", days="36500", **NAMED))[1]["candles"] == []


@pytest.mark.parametrize(
    ("identity", "adjusted", "basis", "adjustable"),
    [
        (SHARE, None, "adjusted", True), (SHARE, "yes", "adjusted", True), (SHARE, "0", "unadjusted", True),
        (INDEX, None, "as_served", False), (INDEX, "false", "as_served", False), (GONE, "true", "as_served", False),
    ],
)  # fmt: skip
async def test_the_price_basis_follows_the_segment_and_adjusted(history, identity, adjusted, basis, adjustable):
    query = {"instrument_id": identity.instrument_id, "known_as_of": "2026-01-01"}
    if adjusted is not None:
        query["adjusted"] = adjusted
    _, answer = await history.get("prices", **RANGE, **query)
    assert (answer["price_basis"], answer["adjustable"]) == (basis, adjustable)
    assert answer["known_as_of"] == ("2026-01-01" if basis == "adjusted" else None)
    assert ("price_factor" in answer["columns"]) == (basis == "adjusted")


async def test_a_split_is_applied_to_prices_and_volumes_before_it(history):
    await history.candles(*(candle(SHARE, at(2026, 11, day), close=500.0) for day in (16, 17, 18)))
    split = Factor(instrument_id=SHARE.instrument_id, ex_date=date(2026, 11, 18), kind="split",
                   price_factor=Decimal("0.2"), volume_factor=Decimal(5), source="test")  # fmt: skip
    await history.durable.put_factors([split])
    _, answer = await history.get("prices", **RANGE, **NAMED)
    assert [row[1:] for row in answer["candles"]] == [[100.0] * 4 + [50, None, 0.2]] * 2 + [
        [500.0] * 4 + [10, None, 1.0]
    ]
    _, before = await history.get("prices", **RANGE, **NAMED, known_as_of="2026-11-17")
    assert [row[4] for row in before["candles"]] == [500.0] * 3


async def test_currency_prices_have_four_decimals(history):
    await history.candles(candle(RUPEE, at(2026, 11, 19), close=83.12345))
    _, answer = await history.get("prices", **RANGE, instrument_id=RUPEE.instrument_id)
    assert answer["candles"][0][4] == 83.1235


async def test_instruments_no_longer_listed_or_entered_with_their_history_are_found(history):
    await history.durable.put_history_instruments([ENTERED])
    await history.candles(candle(GONE, at(2026, 11, 19)), candle(ENTERED, at(2026, 11, 19)))
    for identity in (GONE, ENTERED):
        status, answer = await history.get("prices", **RANGE, instrument_id=identity.instrument_id)
        assert (status, len(answer["candles"])) == (200, 1)
        assert answer["expiry_date"] == identity.expiry_date
    fields = {name: value for name, value in GONE.fields().items() if value is not None}
    del fields["instrument_id"]
    assert (await history.get("prices", **RANGE, **fields))[0] == 200


async def test_a_list_answers_each_item_with_what_get_would_answer(history):
    await history.candles(candle(SHARE, at(2026, 11, 19)))
    items = [NAMED, {"instrument_id": "x"}, 5, {"exchange": "nse", "segment": "equities", "symbol": ["INFY"]},
             {"exchange": "nse", "segment": "equities", "symbol": "infy"},
             {"instrument_id": NOWHERE.instrument_id}]  # fmt: skip
    body = {"interval": "day", "days": 36500, "adjusted": False}
    status, answer = await history.post("prices", instruments=items, **body)
    assert status == 200
    results = answer["results"]
    assert [entry["request_index"] for entry in results] == list(range(6))
    assert [entry["status"] for entry in results] == [200, 400, 400, 400, 200, 404]
    assert results[2]["error"] == "each entry of instruments must be an object"
    assert results[3]["error"] == "symbol must be text, a number or true or false"
    alone = (await history.get("prices", interval="day", days="36500", adjusted="no", **NAMED))[1]
    for entry in (results[0], results[4]):
        assert entry["data"] | {"source": ""} == alone | {"source": ""}
        assert entry["data"]["price_basis"] == "unadjusted"


async def test_candles_of_a_store_that_cannot_be_read_are_a_503(history, monkeypatch):
    async def fails(*_):
        raise HistoryError("history.duckdb: disk error")

    monkeypatch.setattr(history.store, "candles", fails)
    sentence = "the history store could not be used: history.duckdb: disk error"
    assert await history.get("prices", **RANGE, **NAMED) == (503, {"error": sentence})
    _, answer = await history.post("prices", instruments=[NAMED], **RANGE)
    assert answer["results"] == [{"request_index": 0, "status": 503, "error": sentence}]
    history.durable.fail_with(DurableError("gone"))
    status, answer = await history.get("prices", **RANGE, instrument_id=ENTERED.instrument_id)
    assert (status, answer) == (503, {"error": "the instrument history could not be read: gone"})


# Ticks

MOMENT = "must be a date or date and time, such as 2026-09-11 or 2026-09-11 09:15:00"


@every_case(
    ("query", "sentence"),
    [
        ({"end": "x"}, "start is required"),
        ({"start": "x"}, "end is required"),
        ({"start": "x", "end": "y"}, f"start {MOMENT}"),
        ({"start": "2026-11-20", "end": "20-11-2026"}, f"end {MOMENT}"),
        ({"start": "2026-11-20 25:00", "end": "2026-11-21"}, f"start {MOMENT}"),
        ({"start": "2026-11-20T09:15:00+05:99", "end": "2026-11-21"}, f"start {MOMENT}"),
        ({"start": "2026-11-20Z", "end": "2026-11-21"}, f"start {MOMENT}"),
        ({"start": "2026-11-20", "end": "2026-11-20", "adjusted": "x"}, "end must be after start"),
        ({"start": "2026-11-21", "end": "2026-11-20"}, "end must be after start"),
        ({"start": "2026-11-20", "end": "2026-11-21", "adjusted": "x"}, "adjusted must be true or false"),
        ({"start": "2026-11-20", "end": "2026-11-21"}, "give instrument_id, or exchange, segment and the identity fields"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_a_request_for_ticks_is_said_in_order(history, query, sentence):
    assert await history.get("ticks", **query) == (400, {"error": sentence})
    if "instrument" not in sentence:
        assert await history.post("ticks", instruments=[NAMED], **query) == (400, {"error": sentence})


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-11-20", "2026-11-21"),
        ("2026-11-20 09:15", "2026-11-20 09:16"),
        ("2026-11-20 09:15:00", "2026-11-20 09:15:02"),
        ("2026-11-20T09:15:00", "2026-11-20T09:15:01.000001"),
        ("2026-11-20T03:45:00Z", "2026-11-20T03:45:01.5Z"),
        ("2026-11-20T09:15:00+05:30", "2026-11-20T10:15:01.000001+0630"),
        ("2026-11-19T22:45:00-05:00", "2026-11-20T04:45:00.000001+01"),
    ],
)
async def test_a_period_includes_its_start_in_each_spelling_of_a_time(history, start, end):
    first = at(2026, 11, 20, 9, 15)
    await history.ticks(tick(SHARE, first - 1), tick(SHARE, first), tick(SHARE, first + 1_000_000))
    status, answer = await history.get("ticks", start=start, end=end, **NAMED)
    assert status == 200
    assert answer[-1 if start == "2026-11-20" else 0]["time"].startswith("2026-11-20T03:45:0")
    assert "2026-11-20T03:45:00.000000+00:00" in [one["time"] for one in answer]


async def test_a_period_ends_before_its_end(history):
    first = at(2026, 11, 20, 9, 15)
    await history.ticks(tick(SHARE, first), tick(SHARE, first + 1_000_000))
    _, answer = await history.get("ticks", start="2026-11-20 09:15:00", end="2026-11-20 09:15:01", **NAMED)
    assert [one["time"] for one in answer] == ["2026-11-20T03:45:00.000000+00:00"]


async def test_headers_describe_the_stream_and_an_empty_one_is_an_empty_array(history):
    query = {"start": "2026-11-20 09:15", "end": "2026-11-20T04:00:00Z", "adjusted": "no", **NAMED}
    response = await history.client.get("/api/instruments/ticks", query_string=query, headers=history.headers)
    assert await response.get_data() == b"[]"
    described = {
        name: response.headers[f"X-{name}"] for name in ("Instrument-Id", "Adjustable", "Price-Basis", "Start", "End")
    }
    assert described == {
        "Instrument-Id": SHARE.instrument_id, "Adjustable": "true", "Price-Basis": "unadjusted",
        "Start": "2026-11-20T09:15:00+05:30", "End": "2026-11-20T04:00:00+00:00",
    }  # fmt: skip


async def test_ticks_before_a_split_are_adjusted_with_their_depth(history):
    level = [{"price": 500.0, "quantity": 10, "orders": 2}]
    await history.ticks(tick(SHARE, at(2026, 11, 17, 10), 500.0, buy=level), tick(SHARE, at(2026, 11, 18, 10), 100.0))
    split = Factor(instrument_id=SHARE.instrument_id, ex_date=date(2026, 11, 18), kind="split",
                   price_factor=Decimal("0.2"), volume_factor=Decimal(5), source="test")  # fmt: skip
    await history.durable.put_factors([split])
    period = {"start": "2026-11-17", "end": "2026-11-19", **NAMED}
    _, answer = await history.get("ticks", **period)
    assert [one["last_price"] for one in answer] == [100.0, 100.0]
    assert answer[0]["depth"] == {"buy": [{"price": 100.0, "quantity": 50, "orders": 2}], "sell": []}
    _, plain = await history.get("ticks", **period, adjusted="false")
    assert [one["last_price"] for one in plain] == [500.0, 100.0]


async def test_a_list_of_ticks_has_them_beside_the_data_and_what_fails_in_its_entry(history):
    await history.ticks(tick(SHARE, at(2026, 11, 20, 10)), tick(SHARE, at(2026, 11, 20, 11)))
    await history.ticks(tick(GONE, at(2026, 11, 20, 10)))
    items = [
        NAMED,
        {"instrument_id": "x"},
        5,
        {"instrument_id": GONE.instrument_id},
        {"instrument_id": INDEX.instrument_id},
    ]
    status, answer = await history.post("ticks", instruments=items, start="2026-11-20", end="2026-11-21")
    assert status == 200
    results = answer["results"]
    assert [(entry["request_index"], entry["status"]) for entry in results] == [
        (0, 200),
        (1, 400),
        (2, 400),
        (3, 200),
        (4, 200),
    ]
    assert [len(entry["ticks"]) for entry in results if entry["status"] == 200] == [2, 1, 0]
    assert results[0]["ticks"] == (await history.get("ticks", start="2026-11-20", end="2026-11-21", **NAMED))[1]
    assert results[0]["data"] == {
        "instrument_id": SHARE.instrument_id, "adjustable": True, "price_basis": "adjusted",
        "start": "2026-11-20T00:00:00+05:30", "end": "2026-11-21T00:00:00+05:30",
    }  # fmt: skip
    assert results[1]["error"] == "instrument_id must be a UUID"


# Streams


class Failing:
    """A store whose ticks fail after so many frames."""

    def __init__(self, store, frames):
        self.store, self.frames = store, frames

    def __getattr__(self, name):
        return getattr(self.store, name)

    async def ticks(self, *query):
        frames = 0
        async with aclosing(self.store.ticks(*query)) as found:
            async for frame in found:
                if frames == self.frames:
                    raise HistoryError("disk error")
                frames += 1
                yield frame


@pytest.fixture
def failing(history, house, token):
    """What builds a client over a store that fails after so many frames."""

    def build(frames):
        doors = HistoryServices(
            actor=None, store=Failing(history.store, frames), durable=history.durable, catalogue=history.catalogue
        )
        return build_app(attrs.evolve(house.services, history=doors)).test_client()

    return build


PERIOD = {"start": "2026-11-20", "end": "2026-11-21"}


async def test_a_store_that_fails_before_the_first_tick_is_a_503(history, failing):
    await history.ticks(tick(SHARE, at(2026, 11, 20, 10)))
    response = await failing(0).get("/api/instruments/ticks", query_string=PERIOD | NAMED, headers=history.headers)
    assert response.status_code == 503
    assert await response.get_json() == {"error": "the history store could not be used: disk error"}
    answer = await failing(0).post(
        "/api/instruments/ticks", json=PERIOD | {"instruments": [NAMED]}, headers=history.headers
    )
    entry = (await answer.get_json())["results"][0]
    assert (entry["status"], entry["error"]) == (503, "the history store could not be used: disk error")


async def test_a_store_that_fails_in_mid_stream_ends_the_array_with_status_200(history, failing, caplog):
    await history.many_ticks(SHARE, MOST_TICKS + 10)
    response = await failing(1).get("/api/instruments/ticks", query_string=PERIOD | NAMED, headers=history.headers)
    assert response.status_code == 200
    assert len(await response.get_json()) == FIRST_TICKS
    assert "ended early" in caplog.text
    body = PERIOD | {"instruments": [NAMED, NAMED]}
    response = await failing(1).post("/api/instruments/ticks", json=body, headers=history.headers)
    results = (await response.get_json())["results"]
    assert [len(entry["ticks"]) for entry in results] == [FIRST_TICKS]


def connection(history):
    """Return a connection that asks for all ticks and reads as the test says."""
    query = "&".join(f"{name}={value}" for name, value in (PERIOD | NAMED).items())
    return history.client.request(f"/api/instruments/ticks?{query}", method="GET", headers=history.headers)


async def test_killing_the_query_after_the_first_chunk_ends_the_array_early(history, caplog):
    await history.many_ticks(SHARE, 4 * MOST_TICKS)
    async with connection(history) as client:
        await client.send_complete()
        body = await client.receive()
        await history.store.close()
        while not body.endswith(b"]"):
            body += await client.receive()
    assert client.status_code == 200
    assert 0 < len(json.loads(body)) < 4 * MOST_TICKS
    assert "ended early" in caplog.text


async def test_a_client_that_leaves_stops_the_query(history):
    await history.many_ticks(SHARE, 4 * MOST_TICKS)
    left = trio.CancelScope()
    with left:
        async with connection(history) as client:
            await client.send_complete()
            await client.receive()
            assert history.store.answers == 1
            await client.disconnect()
            with trio.fail_after(PATIENCE_SECONDS):
                while history.store.answers:
                    await trio.sleep(0.01)
            left.cancel()  # the test client itself would wait for the rest
    assert left.cancelled_caught


# renamed instruments


async def test_a_renamed_share_answers_what_is_stored_under_its_old_name(history):
    """Also right after the rename, though the series was read before and is kept at hand."""
    await history.candles(candle(ENTERED, at(2026, 11, 18), close=50.0), candle(SHARE, at(2026, 11, 19), close=101.0))
    await history.ticks(tick(ENTERED, at(2026, 11, 18, 10), 50.0), tick(SHARE, at(2026, 11, 19, 10), 101.0))
    split = Factor(
        instrument_id=ENTERED.instrument_id,
        ex_date=date(2026, 11, 19),
        kind="split",
        price_factor=Decimal(2),
        volume_factor=Decimal(1),
        source="x",
    )
    await history.durable.put_factors([split])
    _, before = await history.get("prices", **NAMED, **RANGE)
    assert len(before["candles"]) == 1
    rename = Rename(
        old_id=ENTERED.instrument_id, new_id=SHARE.instrument_id, from_day=date(2026, 11, 19), source="test"
    )
    assert await history.actor.ask(lambda reply: TakeRename(rename, False, reply), PATIENCE_SECONDS)
    _, after = await history.get("prices", **NAMED, **RANGE)
    assert after["instrument_id"] == SHARE.instrument_id
    assert [(row[0][:10], row[4]) for row in after["candles"]] == [("2026-11-18", 100.0), ("2026-11-19", 101.0)]
    _, ticks = await history.get("ticks", **NAMED, start="2026-11-18", end="2026-11-20")
    assert [one["last_price"] for one in ticks] == [100.0, 101.0]
    assert await history.actor.ask(lambda reply: TakeRename(rename, True, reply), PATIENCE_SECONDS)
    _, again = await history.get("prices", **NAMED, **RANGE)
    assert again["candles"] == before["candles"]
