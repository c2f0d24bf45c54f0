"""SmartAPI's instrument file; the rows are the broker's page's."""

from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.angelone import instruments
from onebroker.brokers.listings.frame import LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer, CallKind
from onebroker.config.clock import IST
from onebroker.config.instruments import SEGMENTS
from tests.support.every_case import every_case

FILE = (Path(__file__).resolve().parents[2] / "data" / "angelone" / "instruments.json").read_bytes()
ROWS = msgspec.json.decode(FILE)


def read(*rows):
    return instruments.read_files([msgspec.json.encode(list(rows))]).rows(named=True)


def like(place, **changes):
    return {**ROWS[place], **changes}


def documented(token):
    return next(row for row in instruments.read_files([FILE]).rows(named=True) if row["broker_token"] == token)


def fixed(row):
    return {name: row[name] for name in LISTING_COLUMNS if row[name] is not None}


def test_the_file_needs_no_login(access):
    (request,) = instruments.file_requests(access, datetime(2026, 11, 20, tzinfo=IST))
    assert (request.kind, request.url.rpartition("/")[2]) == (CallKind.FILE, "OpenAPIScripMaster.json")
    assert "Authorization" not in request.headers


def test_a_share_is_named_without_its_series():
    row = documented("NSE|2885")
    assert fixed(row) == {
        "exchange": "nse", "segment": "equities", "symbol": "RELIANCE", "name": "RELIANCE", "lot_size": 1,
        "tick_size": 0.05, "contract_units": 1, "broker_token": "NSE|2885", "tradingsymbol": "RELIANCE-EQ",
        "broker_exchange": "NSE",
    }  # fmt: skip
    assert (row["raw.token"], row["raw.instrumenttype"]) == ("2885", "")


def test_an_index_is_named_by_its_long_name():
    row = documented("NSE|99926000")
    assert (row["segment"], row["symbol"], row["tick_size"]) == ("equity_indices", "NIFTY 50", None)


def test_contracts_are_read_with_their_scales():
    option = documented("NFO|58662")
    assert fixed(option) == {
        "exchange": "nse", "segment": "equity_index_options", "underlying_symbol": "NIFTY", "expiry_date": "2025-10-30",
        "strike_price": 25000.0, "option_type": "CE", "name": "NIFTY", "lot_size": 75, "tick_size": 0.05,
        "contract_units": 1, "broker_token": "NFO|58662", "tradingsymbol": "NIFTY30OCT2525000CE", "broker_exchange": "NFO",
    }  # fmt: skip
    future = documented("NFO|46923")
    assert (future["segment"], future["expiry_date"], future["strike_price"], future["option_type"]) == (
        "equity_index_futures", "2024-05-29", None, None,
    )  # fmt: skip
    crude = documented("MCX|2")
    assert (crude["exchange"], crude["segment"], crude["strike_price"]) == ("mcx", "commodity_options", 5000.0)
    assert (crude["lot_size"], crude["contract_units"], crude["tick_size"]) == (100, None, 0.1)
    dollar = documented("CDS|5")
    assert (dollar["exchange"], dollar["segment"], dollar["strike_price"]) == ("nse", "currency_options", 83.25)
    assert (dollar["lot_size"], dollar["contract_units"], dollar["tick_size"]) == (1000, 1000, 0.0025)


@every_case(
    ("symbol", "segment", "named"),
    [
        ("749RJ35-SG", "fixed_income", "749RJ35"), ("SGBMAR31-GB", "fixed_income", "SGBMAR31"),
        ("NIFTYBEES-EQ", "exchange_traded_funds", "NIFTYBEES"), ("SETFNIF50-EQ", "exchange_traded_funds", "SETFNIF50"),
        ("EMBASSY-RR", "investment_trusts", "EMBASSY"), ("XYZINVIT-IV", "investment_trusts", "XYZINVIT"),
        ("SOMEFUND-MF", "mutual_funds", "SOMEFUND"), ("SMALL-SM", "equities", "SMALL"), ("M&M-EQ", "equities", "M&M"),
        ("BAJAJ-AUTO-EQ", "equities", "BAJAJ-AUTO"), ("ABC-BL", "uncategorised", "ABC-BL"),
    ],
)  # fmt: skip
def test_segments_of_nse_are_told_from_series_and_symbol(symbol, segment, named):
    (row,) = read(like(0, symbol=symbol))
    assert (row["segment"], row["symbol"]) == (segment, named)


@pytest.mark.parametrize(
    ("symbol", "segment"),
    [("RELIANCE", "equities"), ("975HFL26", "fixed_income"), ("3MINDIA", "equities"), ("SGBMAR31", "fixed_income")],
)
def test_segments_of_bse_are_told_from_the_symbol_alone(symbol, segment):
    (row,) = read(like(0, symbol=symbol, exch_seg="BSE"))
    assert (row["exchange"], row["segment"], row["symbol"]) == ("bse", segment, symbol)


def test_a_share_in_two_series_is_one_symbol_in_two_series_and_a_debenture_another_symbol():
    rows = read(like(0), like(0, token="2886", symbol="RELIANCE-BE"), like(0, token="2887", symbol="RELIANCE-N1"))
    assert [(row["symbol"], row["series"]) for row in rows] == [
        ("RELIANCE", "EQ"), ("RELIANCE", "BE"), ("RELIANCE-N1", "N1"),
    ]  # fmt: skip
    assert [row["exchange_token"] for row in rows] == ["2885", "2886", "2887"]


@every_case(
    ("place", "changes", "segment"),
    [
        (3, {"instrumenttype": "FUTSTK"}, "equity_futures"),
        (2, {"instrumenttype": "OPTSTK", "exch_seg": "BFO"}, "equity_options"),
        (5, {"instrumenttype": "OPTIRC"}, "fixed_income_options"),
        (3, {"instrumenttype": "FUTIDX", "exch_seg": "MCX"}, "commodity_index_futures"),
        (3, {"instrumenttype": "FUTCOM", "exch_seg": "NCDEX"}, "commodity_futures"),
        (4, {"exch_seg": "NCO"}, "commodity_options"),
        (3, {"instrumenttype": "COMDTY", "exch_seg": "MCX"}, "uncategorised"),
        (3, {"instrumenttype": "FUTCOM"}, "uncategorised"),  # goods on NFO
        (3, {"instrumenttype": "NEWKIND"}, "uncategorised"),
        (3, {"expiry": "soon"}, "uncategorised"),
        (2, {"strike": "-1.000000"}, "uncategorised"),
        (2, {"symbol": "NIFTY30OCT2525000XX"}, "uncategorised"),
        (3, {"exch_seg": "MOON"}, "uncategorised"),
        (1, {"exch_seg": "MCX", "symbol": "MCXBULLDEX"}, "commodity_indices"),
        (1, {"symbol": "Nifty GS 10Yr"}, "fixed_income_indices"),
    ],
)  # fmt: skip
def test_kinds_are_segments_where_they_belong_and_what_fits_nothing_is_uncategorised(place, changes, segment):
    (row,) = read(like(place, **changes))
    assert row["segment"] == segment


@every_case(
    ("changes", "units"),
    [
        ({"exch_seg": "NCDEX", "lotsize": "50"}, 50), ({"exch_seg": "NCDEX", "lotsize": "1"}, None),
        ({"exch_seg": "NCO", "lotsize": "1"}, None),
        ({"exch_seg": "CDS", "instrumenttype": "FUTIRC", "lotsize": "1"}, None),
        ({"exch_seg": "CDS", "instrumenttype": "FUTCUR", "lotsize": "1"}, 1000),
    ],
)  # fmt: skip
def test_the_units_of_a_lot_are_known_or_null_never_guessed(changes, units):
    (row,) = read(like(3, **{"instrumenttype": "FUTCOM", **changes}))
    assert (row["contract_units"], row["lot_size"]) == (units, units)


@every_case(
    ("name", "expiry", "lotsize", "lot_size", "contract_units"),
    [
        ("GOLD", "05DEC2026", "1", 100, 100), ("GOLDM", "05DEC2026", "100", 10, None), ("ZINC", "30NOV2026", "5", 5000, None),
        ("ZINCMINI", "30NOV2026", "1", 1000, 1000), ("CRUDEOIL", "19NOV2026", "100", 100, None), ("GOLDGUINEA", "30NOV2026", "8", 1, None),
        ("MCXBULLDEX", "27OCT2026", "30", 30, None), ("MCXBULLDEX", "26NOV2026", "15", 15, None),
        ("GOLD", "05DEC2026", "100", None, None),  # not the trading unit: what it is, nobody knows
        ("MCXBULLDEX", "26NOV2026", "30", None, None), ("TOMATO", "30NOV2026", "1", None, None), ("GOLD", "05DEC2026", "", None, None),
    ],
)  # fmt: skip
def test_a_lot_of_mcx_is_its_trading_unit_and_its_size_that_of_the_table(
    name, expiry, lotsize, lot_size, contract_units
):
    (row,) = read(like(3, exch_seg="MCX", instrumenttype="FUTCOM", name=name, expiry=expiry, lotsize=lotsize))
    assert (row["lot_size"], row["contract_units"]) == (lot_size, contract_units)


def test_the_older_spelling_of_exchanges_is_read():
    assert {row["broker_token"] for row in read(like(0, exch_seg="nse_cm"), like(3, exch_seg="nse_fo"))} == {
        "NSE|2885", "NFO|46923",
    }  # fmt: skip


def test_a_token_counts_within_its_exchange_and_only_the_first_row_of_one_is_kept():
    rows = read(like(0), like(0, exch_seg="BSE", symbol="OTHER"), like(0, symbol="AGAIN-EQ"))
    assert [row["tradingsymbol"] for row in rows] == ["RELIANCE-EQ", "OTHER"]


def test_rows_that_name_nothing_are_left_out_and_the_rest_is_kept():
    assert (
        len(read(5, None, {}, like(0, token=""), like(0, symbol=None), like(0, token=7, strike=[1], lotsize=None))) == 1
    )


def test_a_list_that_breaks_off_costs_the_row_in_which_it_does():
    frame = instruments.read_files([FILE[:-20]])
    assert (frame.height, frame["unread"][0]) == (len(ROWS) - 1, 1)


def test_a_bare_nan_costs_a_cell_not_the_file():
    body = FILE.replace(b'"5.000000"', b"NaN", 1).replace(b'"lotsize": "75"', b'"lotsize": -Infinity', 1)
    rows = instruments.read_files([body]).rows(named=True)
    assert len(rows) == len(ROWS)
    assert (rows[0]["tick_size"], rows[2]["lot_size"]) == (None, None)


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[]", b'[{"token":""}]', FILE[:20]])
def test_a_body_that_is_not_the_file_is_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        instruments.read_files([body])


CELLS = st.none() | st.text(max_size=6) | st.integers() | st.floats() | st.booleans() | st.lists(st.none(), max_size=1)


@given(st.lists(st.dictionaries(st.sampled_from(instruments.COLUMNS), CELLS), max_size=4))
def test_any_rows_are_read_into_the_frame_or_a_bad_answer(rows):
    body = msgspec.json.encode([like(0), *rows])
    frame = instruments.read_files([body])
    assert set(LISTING_COLUMNS) <= set(frame.columns)
    assert set(frame["segment"]) <= set(SEGMENTS)
