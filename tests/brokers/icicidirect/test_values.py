"""ICICI Direct's words: beyond test_value_tables.py, products and rights, dates and names in all their spellings."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.icicidirect import naming, values
from onebroker.brokers.icicidirect.broker import ICICIDIRECT
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Product
from tests.support.every_case import every_case


def test_a_product_that_is_sent_is_read_back_and_all_others_are_only_read():
    for word, product in values.DELIVERY_PRODUCTS.items():
        assert values.PRODUCTS.read(word) == product
    assert not values.PRODUCTS.says
    assert set(values.PRODUCTS.reads.values()) - set(values.DELIVERY_PRODUCTS.values()) == {
        Product.MIS,
        Product.CO,
        Product.MTF,
    }


def test_both_directions_of_an_options_right_agree():
    for ours, theirs in values.RIGHT_TO_WIRE.items():
        assert values.right(theirs) == ours


def test_every_status_letter_of_the_stream_is_a_word_of_the_book():
    assert set(values.STREAM_STATUSES.values()) == set(values.STATUSES.reads)
    assert values.STATUSES.reads.keys() >= values.NOTHING_FILLED | {values.ALL_FILLED, values.PART_EXPIRED}


def test_unknown_words_pass_through_in_capitals():
    assert values.PRODUCTS.read("Mystery") == "MYSTERY"
    assert values.ORDER_TYPES.read(" odd ") == "ODD"
    assert values.SIDES.read("NA") == values.FLAT


@every_case(
    ("written", "day"),
    [
        ("27-Feb-2025", date(2025, 2, 27)),
        ("27-FEB-25", date(2025, 2, 27)),
        ("05-feb-2025 09:26", date(2025, 2, 5)),
        ("2025-02-27T06:00:00.000Z", date(2025, 2, 27)),
        ("2025-02-27", date(2025, 2, 27)),
        ("", None),
        (None, None),
        ("31-Feb-2025", None),
        ("27-Foo-2025", None),
        ("27/02/2025", None),
    ],
)
def test_days_are_read_in_every_spelling(written, day):
    assert values.day(written) == day


@given(st.dates(min_value=date(2000, 1, 1), max_value=date(2099, 12, 31)))
def test_a_day_written_is_the_day_read(day):
    assert values.day(values.day_text(day)) == day


def test_moments_have_minutes_or_seconds_and_are_indian():
    assert values.moment("05-Feb-2025 09:26") == datetime(2025, 2, 5, 9, 26, tzinfo=IST)
    assert values.iso_moment("05-FEB-2025 10:41:24") == "2025-02-05T10:41:24+05:30"
    for nothing in ("05-Feb-2025", "", None, "05-Feb-2025 25:00", "05-Feb-2025 x:y", 7):
        assert values.moment(nothing) is None


NAMES = [
    naming.Name("NSE", "RELIND"),
    naming.Name("NFO", "NIFTY", date(2025, 2, 27)),
    naming.Name("NFO", "CNXBAN", date(2026, 9, 29), 72600.0, "CE"),
    naming.Name("NFO", "RELIND", date(2026, 10, 27), 702.5, "PE"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_token_names_one_instrument_and_so_does_a_row(name):
    assert naming.of_token(name.token) == name
    row = {
        "exchange_code": name.exchange.lower(), "stock_code": f"{name.stock_code} ",
        "expiry_date": None if name.expiry is None else values.day_text(name.expiry),
        "strike_price": str(name.strike or 0), "right": {"CE": "Call", "PE": "Put", None: "Others"}[name.right],
    }  # fmt: skip
    assert naming.of_row(row) == name


def test_contract_names_are_the_sdks():
    assert [name.symbol for name in NAMES] == [
        "RELIND", "FUT-NIFTY-27-Feb-2025", "OPT-CNXBAN-29-Sep-2026-72600-CE", "OPT-RELIND-27-Oct-2026-702.5-PE",
    ]  # fmt: skip
    assert [name.product for name in NAMES] == ["cash", "futures", "options", "options"]


def test_a_row_that_names_nothing_is_a_bad_answer():
    for row in ({}, {"exchange_code": "NSE"}, {"stock_code": "RELIND"}):
        with pytest.raises(BadAnswer):
            naming.of_row(row)
    for token in ("RELIND", "NFO:NIFTY:soon", "NFO:NIFTY:2025-02-27:24800"):
        with pytest.raises(ValueError, match=r"unpack|isoformat"):
            naming.of_token(token)
    assert naming.stream_of(Listing(broker_token="NSE:X", tradingsymbol="X", exchange="NSE")) == ("", "")


def test_the_broker_says_what_it_offers():
    offers = ICICIDIRECT.capabilities
    assert offers.order_types["equity"] == {"LIMIT", "SL"}
    assert offers.products["equity"] == {"CNC", "NRML"}
    assert not offers.after_market
    assert {segment.partition("_")[0] for segment in offers.segments} == {"nse", "bse"}
    assert (ICICIDIRECT.order_windows.second, ICICIDIRECT.call_windows.minute, ICICIDIRECT.call_windows.day) == (
        5,
        100,
        5000,
    )
    cadence = ICICIDIRECT.cadence
    assert (cadence.orders, cadence.positions, cadence.funds, cadence.holdings) == (55, 55, 55, 170)
    assert (cadence.trades, cadence.closed, cadence.closed_holdings) == (float("inf"), 600, 1800)
    assert (ICICIDIRECT.quotes_in_service, ICICIDIRECT.profile_seconds) == (False, 86_400)
