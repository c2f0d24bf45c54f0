"""Kite's value tables agree in both directions and cover every word of ours."""

import pytest

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
