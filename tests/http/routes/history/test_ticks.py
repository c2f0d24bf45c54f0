"""Ticks over HTTP: every sentence in its order, the answer's shape, and streams that fail or are left."""

import json
from contextlib import aclosing
from datetime import date
from decimal import Decimal

import attrs
import pytest
import trio

from onebroker.actors.history.interface import MOST_TICKS, HistoryError
from onebroker.actors.history.tick_windows import FIRST_TICKS
from onebroker.actors.store.durable_history import Factor
from onebroker.http.app import build_app
from onebroker.http.services import HistoryServices
from tests.http.routes.history.rows import GONE, INDEX, NAMED, SHARE, at, tick
from tests.support.every_case import every_case
from tests.support.patience import PATIENCE_SECONDS

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
        context = HistoryServices(
            actor=None, store=Failing(history.store, frames), durable=history.durable, catalogue=history.catalogue
        )
        return build_app(attrs.evolve(house.services, history=context)).test_client()

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
