"""Dhan's two instrument files; the rows are captured ones (see the README beside them)."""

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.dhan import instruments
from onebroker.brokers.listings.frame import LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer, CallKind
from onebroker.config.clock import IST
from onebroker.config.instruments import SEGMENTS
from tests.support.every_case import every_case
from tests.support.further import searched

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)
DATA = Path(__file__).resolve().parents[2] / "data" / "dhan"
COMPACT, DETAILED = ((DATA / name).read_bytes() for name in ("compact.csv", "detailed.csv"))
HEADER, *LINES = COMPACT.decode().splitlines()


def read(*lines, detailed=DETAILED):
    body = "".join(f"{line}\n" for line in (HEADER, *lines)).encode() if lines else COMPACT
    return {row["broker_token"]: row for row in instruments.read_files([body, detailed]).rows(named=True)}


def fixed(row):
    return {name: row[name] for name in LISTING_COLUMNS if row[name] is not None}


def test_both_files_are_asked_for_without_a_login(access):
    requests = list(instruments.file_requests(access, NOW))
    assert [(each.kind, each.url, each.headers) for each in requests] == [
        (CallKind.FILE, "https://images.dhan.co/api-data/api-scrip-master.csv", {}),
        (CallKind.FILE, "https://images.dhan.co/api-data/api-scrip-master-detailed.csv", {}),
    ]


def test_a_share_has_its_symbol_from_one_file_and_isin_and_limits_from_the_other():
    row = read()["NSE_EQ:2885"]
    assert fixed(row) == {
        "exchange": "nse", "segment": "equities", "symbol": "RELIANCE", "name": "RELIANCE INDUSTRIES LTD",
        "isin": "INE002A01018", "lot_size": 1, "tick_size": 0.1, "contract_units": 1, "broker_token": "NSE_EQ:2885",
        "tradingsymbol": "RELIANCE", "broker_exchange": "NSE_EQ",
    }  # fmt: skip
    assert (row["raw.SM_UPPER_LIMIT"], row["raw.SM_LOWER_LIMIT"]) == ("1541.2000", "1261.0000")
    assert (row["raw.MTF_LEVERAGE"], row["raw.SEM_SERIES"]) == ("4.55", "EQ")


def test_quoted_fields_and_limits_of_zero_are_read_for_what_they_are():
    row = read()["BSE_EQ:500325"]
    assert (row["name"], row["isin"], row["exchange"]) == ("RELIANCE INDUSTRIES, LTD", "INE002A01018", "bse")
    assert (row["raw.SM_UPPER_LIMIT"], row["raw.SM_LOWER_LIMIT"]) == (None, None)


def test_an_option_has_its_freeze_quantity_in_units():
    assert fixed(read()["NSE_FNO:35084"]) == {
        "exchange": "nse", "segment": "equity_index_options", "underlying_symbol": "NIFTY", "expiry_date": "2026-09-29",
        "strike_price": 29150.0, "option_type": "CE", "name": "NIFTY", "lot_size": 65, "tick_size": 0.05,
        "freeze_quantity": 1756, "contract_units": 1, "broker_token": "NSE_FNO:35084",
        "tradingsymbol": "NIFTY-Sep2026-29150-CE", "broker_exchange": "NSE_FNO",
        "other_names": "OPTIDX",
    }  # fmt: skip


def test_a_contract_of_bse_is_known_by_its_underlying_not_by_the_exchanges_symbol():
    row = read()["BSE_FNO:869699"]
    assert (row["underlying_symbol"], row["strike_price"], row["lot_size"], row["freeze_quantity"]) == (
        "SENSEX", 74300.0, 20, 1000,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("token", "underlying"), [("NSE_FNO:1", "NIFTY"), ("NSE_FNO:7", "BAJAJ-AUTO"), ("NSE_FNO:50001", "NIFTY")]
)
def test_a_contract_the_detailed_file_lacks_is_known_by_its_trading_symbol(token, underlying):
    row = read()[token]
    assert (row["underlying_symbol"], row["freeze_quantity"], row["isin"]) == (underlying, None, None)


def test_a_future_has_no_strike():
    rows = read()
    assert [rows[token]["strike_price"] for token in ("NSE_FNO:1", "MCX_COMM:569900")] == [None, None]
    assert (rows["NSE_FNO:1"]["segment"], rows["NSE_FNO:7"]["segment"]) == ("equity_index_futures", "equity_futures")


@pytest.mark.parametrize(
    ("token", "segment", "tick", "expiry"),
    [
        ("MCX_COMM:565899", "commodity_futures", 1.0, "2026-09-21"),
        ("NSE_CURRENCY:1026077", "currency_futures", 0.0025, "2026-08-28"),
        ("BSE_CURRENCY:2147318", "currency_options", 0.0025, "2024-12-27"),
        ("NSE_CURRENCY:8", "fixed_income_futures", 0.0025, "2026-08-27"),
    ],
)
def test_lots_of_a_size_not_known_have_neither_lot_nor_freeze_quantity(token, segment, tick, expiry):
    row = read()[token]
    assert (row["segment"], row["tick_size"], row["expiry_date"]) == (segment, pytest.approx(tick), expiry)
    assert (row["lot_size"], row["freeze_quantity"], row["contract_units"]) == (None, None, None)


def test_indices_have_the_exchanges_names_and_ticks_in_rupees():
    rows = read()
    assert [(rows[token]["symbol"], rows[token]["segment"], rows[token]["exchange"]) for token in ("IDX_I:13", "IDX_I:51")] == [
        ("NIFTY 50", "equity_indices", "nse"), ("SENSEX", "equity_indices", "bse"),
    ]  # fmt: skip
    assert (rows["IDX_I:13"]["tick_size"], rows["IDX_I:13"]["lot_size"]) == (0.05, None)
    assert rows["IDX_I:13"]["tradingsymbol"] == "NIFTY"


@pytest.mark.parametrize(
    ("token", "segment"),
    [("NSE_EQ:2", "exchange_traded_funds"), ("NSE_EQ:3", "fixed_income"), ("NSE_EQ:4", "investment_trusts")],
)
def test_securities_are_told_apart_by_series_and_isin(token, segment):
    assert read()[token]["segment"] == segment


def test_a_share_in_two_series_is_one_symbol_in_two_series():
    rows = read()
    assert [(rows[token]["symbol"], rows[token]["series"]) for token in ("NSE_EQ:5", "NSE_EQ:6")] == [
        ("TWICE", "EQ"), ("TWICE", "BE"),
    ]  # fmt: skip
    assert rows["NSE_EQ:5"]["tradingsymbol"] == "TWICE"


def test_test_symbols_are_dropped_and_segments_nobody_knows_and_what_fits_nothing_are_uncategorised():
    rows = read(
        *LINES, "NSE,X,77,EQUITY,0,ODD,1.0,Odd,,,,5.0,NA,ES,EQ,ODD", "NSE,D,78,SWAP,0,ODD,1.0,Odd,,,,5.0,M,S,,ODD"
    )
    assert "NSE_EQ:21001" not in rows
    odd = rows["NSE X:77"]
    assert (odd["exchange"], odd["segment"], odd["words"]) == ("unknown", "uncategorised", "NSE X EQUITY EQ")
    assert odd["exchange_token"] is None, "in a market nobody knows its number says nothing"
    assert rows["NSE_FNO:78"]["segment"] == rows["NSE_FNO:9"]["segment"] == "uncategorised"
    assert {row["segment"] for row in rows.values()} <= set(SEGMENTS)


def test_an_id_that_comes_twice_counts_once_and_rows_that_name_nothing_are_dropped():
    share = LINES[0]
    assert (
        len(
            read(share, share, "NSE,E,,EQUITY,0,X,1.0,X,,,,5.0,NA,ES,EQ,X", "NSE,E,5,EQUITY,0,,1.0,X,,,,5.0,NA,ES,EQ,X")
        )
        == 1
    )


def test_ids_are_unique_only_inside_a_segment():
    rows = read(
        "NSE,E,5,EQUITY,0,A,1.0,A,,,,5.0,NA,ES,EQ,A",
        "NSE,D,5,FUTSTK,0,A-Sep2026-FUT,65.0,A,2026-09-29,-0.01,XX,5.0,M,FUT,,",
    )
    assert set(rows) == {"NSE_EQ:5", "NSE_FNO:5"}


@every_case("place", [0, 1])
@every_case("body", [b"", b"<html>no</html>", b"A,B\n1,2\n", b"\x00\xff\xfe"])
def test_a_body_that_is_not_the_file_is_a_bad_answer(place, body):
    bodies = [COMPACT, DETAILED]
    bodies[place] = body
    with pytest.raises(BadAnswer):
        instruments.read_files(bodies)


@searched(40, 100)
@given(cut=st.integers(len(HEADER) + 2, len(COMPACT)), noise=st.binary(max_size=20))
def test_a_file_cut_or_spoilt_behind_its_header_loses_rows_only(cut, noise):
    whole = set(read())
    try:
        rows = instruments.read_files([COMPACT[:cut] + noise, DETAILED])
    except BadAnswer:
        return  # a quote that never ends
    assert set(rows["segment"].unique()) <= set(SEGMENTS)
    assert len(set(rows["broker_token"]) - whole) <= 2
