"""Candles over HTTP: every sentence in its order, the answer's shape, and instruments no longer listed."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.history.interface import CANDLE_SCHEMA, HistoryError
from onebroker.actors.history.messages import TakeFile, TakeRename
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.config.instruments import security
from tests.http.routes.history.rows import GONE, INDEX, NAMED, RUPEE, SHARE, at, tick
from tests.support.every_case import every_case
from tests.support.patience import PATIENCE_SECONDS

ENTERED = security("nse", "equities", "OLDCO")
NOWHERE = security("nse", "equities", "NOWHERE")
MINUTE = 60_000_000
INTERVALS = ("day, 1minute, 2minute, 3minute, 4minute, 5minute, 10minute, 15minute, 20minute, 25minute, 30minute, "
             "45minute, 60minute, 120minute, 180minute, 240minute")  # fmt: skip


def candle(identity, time, minutes=1440, close=100.0, volume=10):
    return {"instrument_id": identity.instrument_id, "minutes": minutes, "time": time, "open": close, "high": close,
            "low": close, "close": close, "volume": volume, "oi": None}  # fmt: skip


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


async def test_a_long_answer_is_the_same_text_as_the_entry_of_a_list_with_its_length(history):
    first = at(2026, 11, 20, 9, 15)
    await history.candles(*(candle(SHARE, first + n * MINUTE, minutes=1, close=100 + n / 20) for n in range(2000)))
    query = {"interval": "1minute", "from": "2026-11-19", "to": "2026-11-21"}
    path = "/api/instruments/prices"
    for _ in range(2):  # the second answer is from the cache, as the entry below
        response = await history.client.get(path, query_string=query | NAMED, headers=history.headers)
        body = await response.get_data()
    assert response.headers["Content-Length"] == str(len(body))
    assert len(body) > 100_000
    listed = await history.client.post(path, json=query | {"instruments": [NAMED]}, headers=history.headers)
    assert await listed.get_data() == b'{"results":[{"request_index":0,"status":200,"data":' + body + b"}]}"
    assert len((await response.get_json())["candles"]) == 2000
