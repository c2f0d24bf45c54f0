"""Kite's value tables agree in both directions and cover every word of ours; numbers and times."""

import pytest

from onebroker.brokers.requests import BadAnswer
from onebroker.brokers.zerodha import values
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity


@pytest.mark.parametrize(
    ("to_wire", "from_wire", "words", "unsupported"),
    [
        (values.SIDE_TO_WIRE, values.SIDE_FROM_WIRE, Side, frozenset()),
        (values.ORDER_TYPE_TO_WIRE, values.ORDER_TYPE_FROM_WIRE, OrderType, frozenset()),
        (values.PRODUCT_TO_WIRE, values.PRODUCT_FROM_WIRE, Product, values.PRODUCTS_UNSUPPORTED),
        (values.VALIDITY_TO_WIRE, values.VALIDITY_FROM_WIRE, Validity, values.VALIDITIES_UNSUPPORTED),
    ],
)
def test_what_is_sent_is_read_back_and_every_word_is_read_or_listed_as_unsupported(
    to_wire, from_wire, words, unsupported
):
    for word, wire in to_wire.items():
        assert from_wire[wire] is word
    assert set(from_wire.values()) | unsupported == set(words)
    assert not set(from_wire.values()) & unsupported


def test_every_order_status_of_ours_has_a_word_of_kites():
    assert set(values.STATUSES.values()) == set(OrderStatus)


def test_a_stop_waiting_for_its_trigger_is_pending_and_an_unknown_status_passes_through_upper_cased():
    assert values.status("TRIGGER PENDING") == OrderStatus.PENDING
    assert values.status("LAPSED") == OrderStatus.EXPIRED
    assert values.status("half done") == "HALF DONE"


@pytest.mark.parametrize(
    ("given", "expected"),
    [(1, 1.0), ("1,234.5", 1234.5), (" 7 ", 7.0), ("", None), ("  ", None), ("NA", None), (None, None), (True, None)],
)
def test_a_number_that_is_none_is_none_and_never_zero(given, expected):
    assert values.number(given) == expected


def test_a_part_of_a_unit_is_a_bad_answer():
    with pytest.raises(BadAnswer):
        values.whole(1.5)


def test_times_are_indian_and_what_is_no_time_is_none():
    assert values.iso_time("2021-05-31 09:18:57") == "2021-05-31T09:18:57+05:30"
    assert values.iso_time("09:18:57") is None
    assert values.iso_time(None) is None
    assert values.epoch("1970-01-01 05:30:00") == 0.0
    assert values.epoch("2021-13-31 09:18:57") is None
