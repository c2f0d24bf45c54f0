"""5paisa's words: beyond test_value_tables.py, words that a second field decides, spellings, dates, names and units."""

from onebroker.brokers.fivepaisa import values
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, SENDABLE_VALIDITIES, OrderType, Product
from tests.support.every_case import every_case


def test_both_directions_agree_where_a_second_field_decides():
    for ours, wire in values.VALIDITIES.says.items():
        assert values.validity(wire) == values.validity(int(wire)) == ours
    for ours, intraday in values.PRODUCTS.says.items():
        where = "N:C" if ours is Product.CNC else "N:D"
        assert values.product("I" if intraday else "D", where) == ours
    for (market, trigger), ours in values.ORDER_TYPE_FROM_WIRE.items():
        assert values.order_type("Y" if market else "N", 5.0 if trigger else 0) == ours


def test_what_is_sent_is_what_callers_may_send():
    assert set(values.PRODUCTS.says) == set(SENDABLE_PRODUCTS)
    assert set(values.VALIDITIES.says) == set(SENDABLE_VALIDITIES)
    assert set(values.ORDER_TYPE_FROM_WIRE.values()) == set(OrderType)


@every_case(
    ("word", "status"),
    [
        ("Fully Executed ", "COMPLETE"), (" pending", "OPEN"), ("Xmitted", "PENDING"), ("AH Placed", "PENDING"),
        ("Cancelled  ", "CANCELLED"), ("Rejected by Exch", "REJECTED"), ("SL Triggered", "OPEN"), ("Frozen ", "FROZEN"),
    ],
)  # fmt: skip
def test_statuses_are_read_whatever_their_case_and_blanks_and_unknown_ones_pass_through(word, status):
    assert values.STATUSES.read(word) == status


def test_words_that_are_none_of_ours_pass_through_upper_cased():
    assert values.product("x", "N:C") == "X"
    assert values.side("Buy") == "BUY"
    assert (values.side("q"), values.side(None)) == ("Q", "")
    assert (values.validity(6), values.validity("9"), values.validity(None)) == ("FOK", "9", "DAY")


def test_dates_are_milliseconds_of_the_epoch_and_the_null_date_is_none():
    assert values.date_text("/Date(1707282361000+0530)/") == "2024-02-07T10:36:01+05:30"
    assert values.date_epoch("/Date(1707282361500)/") == 1707282361.5
    for nothing in ("/Date(-62135596800000)/", "/Date(0)/", "", None, 5, "yesterday", "/Date(99999999999999999999)/"):
        assert values.date_text(nothing) is None


def test_an_instrument_is_named_by_exchange_kind_of_market_and_code():
    token = values.broker_token("N", "C", 1660)
    assert (token, values.parts(token), values.segment_of(token)) == ("N:C:1660", ("N", "C", "1660"), "N:C")
    assert values.is_index("N:C:999920000")
    assert not values.is_index("N:C:1660")
    assert not values.is_index("N:D:999920000")


def test_only_currency_and_commodity_speak_contracts(listings):
    assert values.contract_units("N:D:1", {}) == 1
    assert values.contract_units("N:U:7001", listings) == 1000
    assert values.contract_units("M:D:8001", listings) is None
    assert values.contract_units("M:D:404", listings) is None
