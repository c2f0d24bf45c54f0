"""GET /api/instruments/segments, master and search against rules 1.2.2, 1.4.4, 1.4.5 and 1.7.3."""

import json
from datetime import date

import polars as pl
import pytest
import trio

from onebroker.config.instruments import SEGMENTS
from onebroker.config.refusal import Refusal
from tests.support.every_case import every_case

IDENTITY = [
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type",
]  # fmt: skip
RECORD = [*IDENTITY, "name", "isin", "lot_size", "tick_size"]
LISTS = ["master", "search"]
NEEDS = {"master": {}, "search": {"query": "x"}}
NSE = {"exchange": "nse", "segment": "equities"}


async def refusal(response):
    assert response.content_type == "application/json"
    body = await response.get_json()
    assert list(body) == ["error"]
    return response.status_code, body["error"]


async def rows(office, **query):
    response = await office.get("master", **query)
    assert (response.status_code, response.content_type) == (200, "application/json")
    return await response.get_json()


# Segments


async def test_segments_with_instruments_are_listed_in_the_fixed_order(office):
    response = await office.get("segments")
    body = await response.get_json()
    assert response.status_code == 200
    assert list(body) == ["mapping_date", "exchanges", "segments"]
    assert (body["mapping_date"], body["exchanges"]) == ("2026-11-20", ["bse", "mcx", "ncdex", "nse", "unknown"])
    assert [(row["exchange"], row["segment"], row["instruments"]) for row in body["segments"]] == [
        ("bse", "bse_equities", 1),
        ("nse", "nse_equities", 3),
        ("nse", "nse_equity_indices", 2),
        ("nse", "nse_exchange_traded_funds", 1),
        ("unknown", "uncategorised", 1),
        ("nse", "nse_equity_futures", 1),
        ("mcx", "mcx_commodity_futures", 1),
        ("ncdex", "ncdex_commodity_futures", 1),
        ("nse", "nse_equity_options", 4),
    ]
    order = [SEGMENTS.index(row["bare_segment"]) for row in body["segments"]]
    assert order == sorted(order)


async def test_a_segment_says_its_shape_and_identity_fields(office):
    body = await (await office.get("segments")).get_json()
    by_name = {row["segment"]: row for row in body["segments"]}
    assert by_name["nse_equity_options"] == {
        "exchange": "nse", "segment": "nse_equity_options", "bare_segment": "equity_options", "shape": "option",
        "identity_fields": ["underlying_symbol", "expiry_date", "strike_price", "option_type"], "instruments": 4,
    }  # fmt: skip
    assert list(by_name["uncategorised"])[2:5] == ["bare_segment", "shape", "identity_fields"]
    assert by_name["uncategorised"]["identity_fields"] == ["symbol"]


async def test_what_segments_count_is_what_master_lists(office):
    body = await (await office.get("segments")).get_json()
    for row in body["segments"]:
        for name in {row["segment"], row["bare_segment"]}:
            listed = await rows(office, exchange=row["exchange"], segment=name)
            assert len(listed) == row["instruments"]
            assert {(each["exchange"], each["segment"]) for each in listed} == {(row["exchange"], row["segment"])}
    everything = await rows(office, exchange="all", segment="all")
    assert len(everything) == sum(row["instruments"] for row in body["segments"])
    for exchange in body["exchanges"]:
        of_it = await rows(office, exchange=exchange, segment="all")
        assert of_it == [each for each in everything if each["exchange"] == exchange]


# Master


async def test_a_record_has_the_identity_and_what_most_brokers_say(office):
    (infy,) = await rows(office, exchange="bse", segment="equities")
    assert list(infy) == RECORD
    infy = next(row for row in await rows(office, **NSE) if row["symbol"] == "INFY")
    assert infy | {"instrument_id": None} == {
        "instrument_id": None, "exchange": "nse", "segment": "nse_equities", "shape": "security", "symbol": "INFY",
        "underlying_symbol": None, "expiry_date": None, "strike_price": None, "option_type": None, "name": "INFOSYS",
        "isin": "INE009A01021", "lot_size": 1, "tick_size": 0.05,
    }  # fmt: skip


async def test_a_record_begins_as_details_do(office):
    for row in await rows(office, exchange="all", segment="all"):
        details = await (await office.get("details", instrument_id=row["instrument_id"])).get_json()
        assert {name: details[name] for name in RECORD} == row


async def test_numbers_are_numbers_and_missing_ones_null(office):
    strikes = [row["strike_price"] for row in await rows(office, exchange="nse", segment="equity_options")]
    assert strikes == [1500.0, 1500.0, 1500.5, 3000.0]
    (gold,) = await rows(office, exchange="mcx", segment="all")
    assert (gold["lot_size"], gold["tick_size"], gold["name"]) == (
        100,
        None,
        None,
    )  # the size is a fact of the exchange, whatever files say


async def test_awkward_names_arrive_as_they_are(office):
    names = ['A"B', "A\nB", "A\\B", "A},{B", "É₹", "A\tB"]
    listed = [office.share(f"S{number}", name=name) for number, name in enumerate(names)]
    office.map(office.snapshot_of(office.DAY, zerodha=listed))
    assert [row["name"] for row in await rows(office, **NSE)] == names


async def test_a_segment_without_instruments_is_an_empty_list(office):
    assert await rows(office, exchange="bse", segment="currency_options") == []
    assert await rows(office, exchange="unknown", segment="all") == await rows(
        office, exchange="unknown", segment="uncategorised"
    )


async def test_the_header_says_which_mapping_answered(office):
    response = await office.get("master", exchange="all", segment="all")
    assert response.headers["X-Mapping-Date"] == "2026-11-20"


@every_case(
    ("query", "sentence"),
    [
        ({}, "exchange is required"),
        ({"segment": "all"}, "exchange is required"),
        ({"exchange": " "}, "exchange is required"),
        ({"exchange": "nyse", "segment": "all"}, "exchange must be one of nse, bse, mcx, ncdex, unknown, all"),
        ({"exchange": "NSE", "segment": "all"}, "exchange must be one of nse, bse, mcx, ncdex, unknown, all"),
        ({"exchange": "nse"}, "segment is required"),
        ({"exchange": "all"}, "segment is required"),
        ({"exchange": "all", "segment": "equities"}, "a single segment needs a single exchange"),
        ({"exchange": "all", "segment": "nse_equities"}, "a single segment needs a single exchange"),
        (
            {"exchange": "nse", "segment": "bse_equities"},
            "segment bse_equities is not a segment of nse; see /api/instruments/segments",
        ),
        (
            {"exchange": "unknown", "segment": "equities"},
            "segment equities is not a segment of unknown; see /api/instruments/segments",
        ),
        *(
            (
                {"exchange": exchange, "segment": "uncategorised"},
                f"segment uncategorised is not a segment of {exchange}; see /api/instruments/segments",
            )
            for exchange in ("nse", "bse", "mcx", "ncdex")
        ),
        ({"exchange": "nse", "segment": "all", "date": "2026-2-3"}, "date must be a date in YYYY-MM-DD format"),
        ({"exchange": "nse", "segment": "all", "date": ""}, "date must be a date in YYYY-MM-DD format"),
        ({"exchange": "all", "segment": "x", "date": "x"}, "a single segment needs a single exchange"),
    ],
)
async def test_a_wrong_filter_is_refused_before_anything_is_read(office, query, sentence):
    office.map(None)
    assert await refusal(await office.get("master", **query)) == (400, sentence)


class Breaking:
    """Records that can be read `left` times more."""

    def __init__(self, records, left):
        self.records, self.left = records, left

    def slice(self, start, count):
        if self.left == 0:
            raise pl.exceptions.ComputeError("the disk is gone")
        self.left -= 1
        return self.records.slice(start, count)


@pytest.mark.parametrize("left", [0, 3])
async def test_a_file_that_breaks_ends_the_list_early_or_is_a_503_before_it_begins(office, monkeypatch, left):
    snapshot = office.snapshot_of(office.DAY, zerodha=[office.share(f"S{number:05}") for number in range(2000)])
    monkeypatch.setattr(snapshot.master, "_records", Breaking(snapshot.master._records, left))
    office.map(snapshot)
    response = await office.get("master", **NSE)
    if left == 0:
        assert await refusal(response) == (503, "the mapping of 2026-11-20 cannot be read")
    else:
        assert response.status_code == 200
        assert [row["symbol"] for row in await response.get_json()] == [f"S{number:05}" for number in range(600)]


async def test_a_list_that_began_on_a_mapping_ends_on_it(office):
    old = office.snapshot_of(office.DAY, zerodha=[office.share(f"OLD{number:05}") for number in range(3000)])
    office.map(old)
    sent = []
    asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive():
        return next(asked, None) or await trio.sleep_forever()

    async def send(message):
        if message["type"] == "http.response.body":
            if not sent:
                office.map(office.snapshot_of(date(2026, 11, 21), zerodha=[office.share("NEW")]))
            sent.append(message["body"])

    scope = {
        "type": "http", "method": "GET", "path": "/api/instruments/master", "raw_path": b"/api/instruments/master",
        "query_string": b"exchange=all&segment=all", "http_version": "1.1", "scheme": "http", "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in office.headers.items()], "server": ("x", 1),
        "client": ("x", 1), "extensions": {}, "asgi": {"spec_version": "2.3", "version": "3.0"},
    }  # fmt: skip
    await office.app(scope, receive, send)
    assert max(map(len, sent)) == 64 * 1024
    assert [row["symbol"] for row in json.loads(b"".join(sent))] == [f"OLD{number:05}" for number in range(3000)]
    assert [row["symbol"] for row in await rows(office, exchange="all", segment="all")] == ["NEW"]


# Search


async def found(office, **query):
    response = await office.get("search", **query)
    assert response.status_code == 200, await response.get_data()
    return await response.get_json()


async def test_search_answers_records_of_one_segment(office):
    body = await found(office, exchange="nse", segment="equity_indices", query="50")
    assert list(body) == ["mapping_date", "exchange", "segment", "query", "matched", "instruments"]
    assert [body[name] for name in list(body)[:5]] == ["2026-11-20", "nse", "nse_equity_indices", "50", 2]
    assert body["instruments"] == await rows(office, exchange="nse", segment="equity_indices")


async def test_search_finds_equal_names_first_then_beginnings_then_parts(office):
    names = ["ZNIFTY", "NIFTYBEES", "ANIFTYA", "NIFTY", "NIFTY 50", "NIFT", "BANK"]
    office.map(office.snapshot_of(office.DAY, zerodha=[office.share(name) for name in names]))
    body = await found(office, **NSE, query=" nifty ")
    assert [row["symbol"] for row in body["instruments"]] == ["NIFTY", "NIFTY 50", "NIFTYBEES", "ANIFTYA", "ZNIFTY"]
    assert (body["query"], body["matched"]) == ("nifty", 5)


async def test_a_derivative_is_found_by_its_underlying_in_the_order_of_its_contract(office):
    body = await found(office, exchange="nse", segment="equity_options", query="inf")
    assert [(row["strike_price"], row["option_type"]) for row in body["instruments"]] == [
        (1500.0, "CE"), (1500.0, "PE"), (1500.5, "CE"),
    ]  # fmt: skip


@pytest.mark.parametrize(("limit", "answered"), [(None, 50), (1, 1), (7, 7), (200, 200)])
async def test_a_limit_bounds_the_answer_and_not_the_count(office, limit, answered):
    calls = [office.call(f"U{number % 3}", 100 + number) for number in range(300)]
    office.map(office.snapshot_of(office.DAY, zerodha=calls))
    query = {} if limit is None else {"limit": limit}
    body = await found(office, exchange="nse", segment="nse_equity_options", query="U", **query)
    assert (body["matched"], len(body["instruments"])) == (300, answered)
    everything = await rows(office, exchange="nse", segment="equity_options")
    assert body["instruments"] == everything[:answered]


@every_case("query", ["none", ".", "%", "[", "\\", '"', "\x00", "₹", "INFYY"])
async def test_a_term_is_taken_literally(office, query):
    body = await found(office, **NSE, query=query)
    assert (body["matched"], body["instruments"]) == (0, [])
    assert (await found(office, **NSE, query="m&M"))["matched"] == 1


async def test_an_empty_segment_has_no_matches(office):
    assert (await found(office, exchange="bse", segment="equity_options", query="INFY"))["matched"] == 0


@every_case(
    ("query", "sentence"),
    [
        ({}, "exchange is required"),
        ({"exchange": "all"}, "exchange must be one of nse, bse, mcx, ncdex, unknown"),
        ({"exchange": "nse"}, "segment is required"),
        (
            {"exchange": "nse", "segment": "all", "query": "x"},
            "segment all is not a segment of nse; see /api/instruments/segments",
        ),
        (NSE, "query is required"),
        (NSE | {"query": "  "}, "query is required"),
        (NSE | {"query": "x", "limit": "many"}, "limit must be a whole number"),
        (NSE | {"query": "x", "limit": "1.5"}, "limit must be a whole number"),
        (NSE | {"query": "x", "limit": ""}, "limit must be a whole number"),
        (NSE | {"query": "x", "limit": "0"}, "limit must be between 1 and 200"),
        (NSE | {"query": "x", "limit": "201"}, "limit must be between 1 and 200"),
        (NSE | {"query": "x", "limit": "-5"}, "limit must be between 1 and 200"),
        (NSE | {"query": "x", "limit": "9" * 5000}, "limit must be between 1 and 200"),
        (NSE | {"query": "x", "date": "today"}, "date must be a date in YYYY-MM-DD format"),
        (NSE | {"limit": "0", "date": "today"}, "query is required"),
    ],
)
async def test_a_wrong_search_is_refused_before_anything_is_read(office, query, sentence):
    office.map(None)
    assert await refusal(await office.get("search", **query)) == (400, sentence)


# Dates


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("day", ["2026-11-20", "2031-01-01"])
async def test_a_date_on_or_after_the_latest_mapping_means_the_latest(office, path, day):
    response = await office.get(path, **NSE, **NEEDS[path], date=day)
    assert (response.status_code, response.headers["X-Mapping-Date"]) == (200, "2026-11-20")
    assert office.heard == []


async def test_an_earlier_date_is_answered_from_the_mapping_before_it(office):
    office.older = office.snapshot_of(date(2026, 11, 18), zerodha=[office.share("GONE")])
    response = await office.get("master", **NSE, date="2026-11-19")
    assert (response.status_code, response.headers["X-Mapping-Date"]) == (200, "2026-11-18")
    assert [row["symbol"] for row in await response.get_json()] == ["GONE"]
    body = await found(office, **NSE, query="gone", date="2026-11-19")
    assert (body["mapping_date"], body["matched"]) == ("2026-11-18", 1)
    assert office.heard == [date(2026, 11, 19)] * 2


@pytest.mark.parametrize("path", LISTS)
async def test_a_date_before_everything_is_a_404(office, path):
    answer = await refusal(await office.get(path, **NSE, **NEEDS[path], date="2026-01-01"))
    assert answer == (404, "nothing had been mapped on or before 2026-01-01")


@pytest.mark.parametrize("path", LISTS)
async def test_an_older_mapping_that_cannot_be_read_is_a_503(office, path):
    office.older = Refusal(503, "the mapping of 2026-11-18 cannot be read")
    answer = await refusal(await office.get(path, **NSE, **NEEDS[path], date="2026-11-19"))
    assert answer == (503, "the mapping of 2026-11-18 cannot be read")


@pytest.mark.parametrize("path", ["segments", *LISTS])
async def test_before_the_first_mapping_it_is_a_503(office, path):
    office.map(None)
    for query in ({}, {"date": "2026-01-01"}):
        answer = await refusal(await office.get(path, **NSE, **NEEDS.get(path, {}), **query))
        assert answer == (503, "no instruments have been mapped yet")


@pytest.mark.parametrize("path", ["segments", *LISTS])
async def test_the_token_comes_first(office, path):
    assert await refusal(await office.get(path, headers={})) == (401, "Access token is required")
