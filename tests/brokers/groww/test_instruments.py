"""Groww's file, read by the names of its columns."""

from datetime import datetime

import pytest

from onebroker.brokers.groww import instruments
from onebroker.brokers.listings.frame import EVIDENCE_COLUMNS, LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer, CallKind
from onebroker.config.clock import IST
from tests.support.every_case import every_case


@pytest.fixture
def body(data):
    return (data / "instruments.csv").read_bytes()


def rows(body):
    return {row["broker_token"]: row for row in instruments.read_files([body]).rows(named=True)}


def test_the_file_needs_no_login(access):
    (request,) = instruments.file_requests(access, datetime(2026, 11, 23, tzinfo=IST))
    assert (request.kind, request.headers) == (CallKind.FILE, {})
    assert request.url == "https://growwapi-assets.groww.in/instruments/instrument.csv"


@every_case(
    ("token", "expected"),
    [
        ("NSE:CASH:RELIANCE", {"exchange": "nse", "segment": "equities", "symbol": "RELIANCE", "isin": "INE002A01018"}),
        ("BSE:CASH:RELIANCE", {"exchange": "bse", "segment": "equities", "tick_size": 0.05, "lot_size": 1}),
        ("NSE:IDX:NIFTY", {"segment": "equity_indices", "symbol": "NIFTY 50", "isin": None, "lot_size": None}),
        ("BSE:IDX:SENSEX", {"exchange": "bse", "segment": "equity_indices", "other_names": "1|BSE-SENSEX"}),
        (
            "NSE:FNO:360ONE26NOV840CE",
            {
                "segment": "equity_options", "underlying_symbol": "360ONE", "expiry_date": "2026-11-23", "strike_price": 840.0,
                "option_type": "CE", "symbol": None, "lot_size": 500, "freeze_quantity": None, "contract_units": 1,
                "other_names": "66509|NSE-360ONE-23Nov26-840-CE", "tradingsymbol": "360ONE26NOV840CE",
            },
        ),
        ("NSE:FNO:NIFTY26NOVFUT", {"segment": "equity_index_futures", "underlying_symbol": "NIFTY", "strike_price": None}),
        ("NSE:CASH:GOLDBEES", {"segment": "exchange_traded_funds"}),
        ("NSE:CASH:754KA41", {"segment": "fixed_income", "lot_size": 100}),
        ("MCX:COMMODITY:CRUDEOIL26DECFUT", {"exchange": "mcx", "segment": "commodity_futures", "contract_units": 1}),
        ("NSE:CURRENCY:USDINR26NOVFUT", {"segment": "uncategorised"}),
    ],
)  # fmt: skip
def test_every_kind_of_row_is_read(body, token, expected):
    row = rows(body)[token]
    assert {name: row[name] for name in expected} == expected


def test_the_frame_is_the_normalized_one_and_a_row_without_a_name_is_dropped(body):
    frame = instruments.read_files([body])
    assert frame.columns[: len(LISTING_COLUMNS)] == list(LISTING_COLUMNS)
    raw = {f"raw.{name}" for name in instruments.RAW_COLUMNS}
    assert set(frame.columns[len(LISTING_COLUMNS) :]) == raw | set(EVIDENCE_COLUMNS)
    assert (frame.height, frame["unread"][0]) == (10, 1)
    assert rows(body)["NSE:FNO:360ONE26NOV840CE"]["raw.freeze_quantity"] == "20001"


def test_a_file_of_another_order_fewer_columns_or_with_a_mark_says_the_same(body):
    table = [line.split(",") for line in body.decode().splitlines()]
    gone = table[0].index("is_intraday")
    turned = "".join(",".join(reversed(row[:gone] + row[gone + 1 :])) + "\n" for row in table).encode()
    for other in (turned, b"\xef\xbb\xbf" + body):
        read = instruments.read_files([other]).drop("raw.is_intraday")
        assert read.equals(instruments.read_files([body]).drop("raw.is_intraday"))


@pytest.mark.parametrize("body", [b"", b"<html></html>", b"\x00\x01", b"exchange,segment\nNSE,CASH\n"])
def test_a_body_that_is_not_the_file_is_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        instruments.read_files([body])


def test_a_share_in_two_series_is_one_symbol_in_two_series(body):
    more = (
        body + b"NSE,2886,RELIANCE-BE,NSE-RELIANCE-BE,Reliance,EQ,CASH,BE,INE002A01018,,,,,1,0.1,,,1,1,RELIANCE-BE,1\n"
    )
    read = rows(more)
    both = [read[token] for token in ("NSE:CASH:RELIANCE", "NSE:CASH:RELIANCE-BE")]
    assert [(row["symbol"], row["series"]) for row in both] == [("RELIANCE", "EQ"), ("RELIANCE", "BE")]
