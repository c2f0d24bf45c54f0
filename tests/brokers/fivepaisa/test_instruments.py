"""The instrument file, by its documented rows; older spellings, damaged files."""

import gzip
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.fivepaisa import instruments
from onebroker.brokers.listings.frame import LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import IST
from tests.support.further import searched

FILE = (Path(__file__).resolve().parents[2] / "data" / "fivepaisa" / "instruments.csv").read_bytes()


def read(body):
    frame = instruments.read_files([body])
    return {row["broker_token"]: row for row in frame.rows(named=True)}


@pytest.fixture(scope="module")
def rows():
    return read(FILE)


def test_the_file_is_asked_for_without_a_login(access):
    (request,) = list(instruments.file_requests(access, datetime(2026, 11, 23, tzinfo=IST)))
    assert request.url.endswith("/ScripMaster/segment/All")
    assert "Authorization" not in request.headers


def test_securities_are_known_by_series_and_isin(rows):
    share = rows["N:C:1660"]
    assert (share["exchange"], share["segment"], share["symbol"]) == ("nse", "equities", "ITC")
    assert (share["isin"], share["lot_size"], share["tick_size"], share["contract_units"]) == (
        "INE154A01025",
        1,
        0.05,
        1,
    )
    assert (share["freeze_quantity"], share["name"], share["broker_exchange"]) == (None, "ITC LTD", "N:C")
    assert (rows["B:C:500875"]["exchange"], rows["B:C:500875"]["segment"]) == ("bse", "equities")
    assert rows["N:C:2001"]["segment"] == "exchange_traded_funds"
    assert (rows["N:C:2002"]["segment"], rows["N:C:2002"]["symbol"]) == ("fixed_income", "NHAI-N1")
    assert rows["N:C:2004"]["segment"] == "uncategorised"


def test_an_index_has_the_exchanges_name(rows):
    index = rows["N:C:999920000"]
    assert (index["segment"], index["symbol"]) == ("equity_indices", "NIFTY 50")


def test_derivatives_are_known_by_underlying_expiry_strike_and_type(rows):
    option = rows["B:D:1180001"]
    assert (option["exchange"], option["segment"], option["underlying_symbol"]) == ("bse", "equity_options", "ITC")
    assert (option["expiry_date"], option["strike_price"], option["option_type"]) == ("2026-10-29", 400.0, "CE")
    assert (option["lot_size"], option["symbol"]) == (1600, None)
    future = rows["N:D:51001"]
    assert (future["segment"], future["freeze_quantity"]) == ("equity_index_futures", 1800)
    assert rows["N:U:7002"]["segment"] == "fixed_income_futures"
    assert rows["N:D:51009"]["segment"] == "uncategorised", "a derivative without expiry and strike"


def test_of_contracts_listed_twice_the_highest_code_counts(rows):
    assert "N:D:51002" not in rows
    assert rows["N:D:51003"]["strike_price"] == 22000.5


def test_contract_sizes_are_the_files_multipliers_and_a_multiplier_of_one_is_not_believed(rows):
    currency, silver, crude = rows["N:U:7001"], rows["M:D:8001"], rows["M:D:8002"]
    assert (currency["segment"], currency["contract_units"], currency["lot_size"]) == ("currency_futures", 1000, 1000)
    assert currency["freeze_quantity"] == 10_000_000
    assert (silver["segment"], silver["contract_units"], silver["lot_size"]) == ("commodity_options", None, None)
    assert (crude["contract_units"], crude["lot_size"], crude["freeze_quantity"]) == (100, 100, 10_000)


def test_what_nothing_else_carries_is_kept_raw(rows):
    assert rows["N:D:51001"]["raw.ScripData"] == "NIFTY 29 Oct 2026_20261029"
    assert set(LISTING_COLUMNS) <= set(rows["N:D:51001"])


def test_a_gzipped_body_is_the_same_file(rows):
    assert read(gzip.compress(FILE)) == rows


def test_the_older_spelling_of_the_columns_is_read(rows):
    older = FILE.replace(b"ScripCode", b"Scripcode").replace(b"ScripType", b"CpType").replace(b"SymbolRoot", b"Root")
    older = older.replace(b"BOCOAllowed", b"CO BO Allowed")
    assert read(older) == rows


@pytest.mark.parametrize(
    "body", [b"", b"<html></html>", b"\x1f\x8bbroken", b"Exch,ExchType\nN,C\n", FILE.splitlines()[0]]
)
def test_what_is_not_the_file_is_said(body):
    with pytest.raises(BadAnswer):
        instruments.read_files([body])


@searched(40, 100)
@given(st.integers(0, len(FILE)), st.binary(max_size=20))
def test_a_file_that_breaks_off_or_is_damaged_loses_rows_only(at, noise):
    for body in (FILE[:at], FILE[:at] + noise + FILE[at:]):
        try:
            frame = instruments.read_files([body])
        except BadAnswer:
            continue
        assert set(LISTING_COLUMNS) <= set(frame.columns)
