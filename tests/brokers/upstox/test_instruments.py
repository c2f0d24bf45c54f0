"""Upstox' instrument file; the rows are the documentation's."""

import gzip
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from onebroker.brokers.listings.frame import LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer, CallKind
from onebroker.brokers.upstox import instruments
from onebroker.config.clock import IST
from onebroker.config.instruments import SEGMENTS
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)

FILE = (Path(__file__).resolve().parents[2] / "data" / "upstox" / "instruments.json").read_bytes()
ROWS = msgspec.json.decode(FILE)


def read(*rows):
    return instruments.read_files([msgspec.json.encode(list(rows))]).rows(named=True)


def documented(key):
    return next(row for row in instruments.read_files([FILE]).rows(named=True) if row["broker_token"] == key)


def fixed(row):
    return {name: row[name] for name in LISTING_COLUMNS if row[name] is not None}


def test_a_share_reads_as_documented():
    row = documented("NSE_EQ|INE002A01018")
    assert fixed(row) == {
        "exchange": "nse", "segment": "equities", "symbol": "RELIANCE", "name": "RELIANCE INDUSTRIES LTD",
        "isin": "INE002A01018", "lot_size": 1, "tick_size": 0.1, "freeze_quantity": 100_000, "contract_units": 1,
        "broker_token": "NSE_EQ|INE002A01018", "tradingsymbol": "RELIANCE", "broker_exchange": "NSE_EQ",
    }  # fmt: skip
    assert (row["raw.exchange_token"], row["raw.security_type"]) == ("2885", "NORMAL")


def test_an_index_option_reads_as_documented_with_the_freeze_quantity_in_units():
    assert fixed(documented("NSE_FO|50904")) == {
        "exchange": "nse", "segment": "equity_index_options", "underlying_symbol": "BANKNIFTY",
        "expiry_date": "2025-12-30", "strike_price": 51200.0, "option_type": "CE", "name": "BANKNIFTY", "lot_size": 35,
        "tick_size": 0.05, "freeze_quantity": 875, "contract_units": 1, "broker_token": "NSE_FO|50904",
        "tradingsymbol": "BANKNIFTY 51200 CE 30 DEC 25", "broker_exchange": "NSE_FO",
    }  # fmt: skip


def test_a_currency_contract_is_a_thousand_units_and_its_freeze_quantity_counts_contracts():
    row = documented("NCD_FO|14294")
    assert (row["segment"], row["lot_size"], row["contract_units"]) == ("currency_options", 1000, 1000)
    assert (row["freeze_quantity"], row["tick_size"], row["expiry_date"]) == (10_000_000, 0.0025, "2026-03-27")


def test_a_commodity_contract_counts_its_freeze_quantity_in_units():
    row = documented("MCX_FO|570001")
    assert (row["exchange"], row["segment"], row["underlying_symbol"]) == ("mcx", "commodity_futures", "CRUDEOIL")
    assert (row["lot_size"], row["contract_units"], row["freeze_quantity"], row["tick_size"]) == (100, 100, 10_000, 1.0)
    assert (row["expiry_date"], row["strike_price"], row["option_type"]) == ("2026-10-19", None, None)


@pytest.mark.parametrize(
    ("key", "segment", "symbol"),
    [
        ("NSE_EQ|IN2920250163", "fixed_income", "749RJ35"),
        ("NSE_EQ|INF204KB14I2", "exchange_traded_funds", "NIFTYBEES"),
        ("NSE_EQ|INE041025011", "investment_trusts", "EMBASSY"),
        ("NSE_INDEX|Nifty 50", "equity_indices", "NIFTY 50"),
    ],
)
def test_segments_are_told_from_series_and_isin(key, segment, symbol):
    row = documented(key)
    assert (row["segment"], row["symbol"]) == (segment, symbol)


def test_foreign_indices_are_left_out_and_every_segment_is_one_of_ours():
    frame = instruments.read_files([FILE])
    assert frame.height == len(ROWS) - 1
    assert set(frame["segment"]) <= set(SEGMENTS)
    assert list(frame.columns[: len(LISTING_COLUMNS)]) == list(LISTING_COLUMNS)


def test_the_body_may_still_be_gzip():
    assert instruments.read_files([gzip.compress(FILE, mtime=0)]).equals(instruments.read_files([FILE]))


@pytest.mark.parametrize(
    ("change", "units"),
    [
        ({"qty_multiplier": 100.0, "lot_size": 1}, 100),
        ({"qty_multiplier": 1, "lot_size": 1}, 1),
        ({"qty_multiplier": 1, "lot_size": 100}, None),
        ({"qty_multiplier": None}, None),
        ({"qty_multiplier": ""}, None),
        ({"qty_multiplier": 0}, None),
        ({"qty_multiplier": 2.5}, None),
    ],
)
def test_a_contract_size_that_is_not_known_is_null_and_never_one(change, units):
    (row,) = read({**ROWS[4], **change})
    assert (row["contract_units"], row["lot_size"]) == (units, units)
    if units is None:
        assert row["freeze_quantity"] is None


def test_a_currency_contract_is_never_one_unit():
    (row,) = read({**ROWS[2], "qty_multiplier": 1.0})
    assert (row["contract_units"], row["lot_size"]) == (None, None)


@pytest.mark.parametrize("freeze", [None, "", 0, -1, "NaN", "x"])
def test_an_unknown_freeze_quantity_is_null_and_never_one(freeze):
    (row,) = read({**ROWS[1], "freeze_quantity": freeze})
    assert row["freeze_quantity"] is None


@every_case("name", ["expiry", "underlying_type", "strike_price", "instrument_type", "tick_size", "isin"])
@every_case("cell", [None, "", " ", "NaN", {}, [1], True, -1])
def test_no_cell_can_spoil_the_file(name, cell):
    rows = read({**ROWS[1], name: cell}, ROWS[0])
    assert [row["broker_token"] for row in rows] == ["NSE_FO|50904", "NSE_EQ|INE002A01018"]
    assert rows[1]["segment"] == "equities"
    if name in ("expiry", "strike_price", "instrument_type"):
        assert (rows[0]["segment"], rows[0]["underlying_symbol"]) == ("uncategorised", None)
        assert rows[0]["symbol"] == "BANKNIFTY 51200 CE 30 DEC 25"


def test_a_bare_nan_is_no_json_and_still_read():
    body = FILE.replace(b'"freeze_quantity":875.0', b'"freeze_quantity": NaN')
    row = next(row for row in instruments.read_files([body]).rows(named=True) if row["broker_token"] == "NSE_FO|50904")
    assert row["freeze_quantity"] is None


def test_rows_that_name_nothing_are_dropped_and_a_key_counts_once():
    rows = read(ROWS[0], ROWS[0], {**ROWS[0], "instrument_key": None}, 7, None, {**ROWS[3], "trading_symbol": ""})
    assert [row["broker_token"] for row in rows] == ["NSE_EQ|INE002A01018"]


def test_two_papers_under_one_symbol_are_told_apart_by_their_series():
    first = {**ROWS[0], "isin": "INE002A07018", "instrument_key": "NSE_EQ|1", "instrument_type": "N1"}
    second = {**first, "isin": "INE002A07026", "instrument_key": "NSE_EQ|2", "instrument_type": "N2"}
    assert [(row["segment"], row["symbol"]) for row in read(first, second)] == [
        ("fixed_income", "RELIANCE-N1"), ("fixed_income", "RELIANCE-N2"),
    ]  # fmt: skip


@pytest.mark.parametrize(("lot", "freeze"), [(65, 1800), (75, 1801), (49, 100_003), (1, 1)])
def test_a_freeze_quantity_that_is_no_whole_number_of_lots_is_kept_to_the_unit(lot, freeze):
    (row,) = read({**ROWS[1], "lot_size": lot, "freeze_quantity": float(freeze)})
    assert row["freeze_quantity"] == freeze


@pytest.mark.parametrize("segment", ["NSE_NEW", None, ""])
def test_a_segment_nobody_knows_is_uncategorised_on_no_known_exchange(segment):
    (row,) = read({**ROWS[0], "segment": segment})
    assert (row["exchange"], row["segment"], row["symbol"]) == ("unknown", "uncategorised", "RELIANCE")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b"[1,2]", b"\x1f\x8bnot gzip", gzip.compress(FILE, mtime=0)[:80]]
)
def test_a_body_that_is_not_the_file_is_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        instruments.read_files([body])


def test_one_file_holds_all_exchanges_and_needs_no_login(access):
    (request,) = instruments.file_requests(access, NOW)
    assert request.url == "https://assets.upstox.com/market-quote/instruments/exchange/complete.json.gz"
    assert (request.kind, "Authorization" in request.headers) == (CallKind.FILE, False)
