"""Upstox' value tables agree in both directions and cover every word of ours; units of a contract."""

import pytest

from onebroker.brokers.records import Listing
from onebroker.brokers.upstox import values
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity


@pytest.mark.parametrize(
    ("to_wire", "from_wire", "words", "unsupported"),
    [
        (values.SIDE_TO_WIRE, values.SIDE_FROM_WIRE, Side, frozenset()),
        (values.ORDER_TYPE_TO_WIRE, values.ORDER_TYPE_FROM_WIRE, OrderType, frozenset()),
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


@pytest.mark.parametrize(("product", "key"), [("CNC", "NSE_EQ|X"), ("NRML", "NSE_FO|1"), ("MIS", "NSE_EQ|X")])
def test_a_product_is_read_back_by_its_letter_and_the_segment(product, key):
    assert values.product(values.PRODUCT_TO_WIRE[Product(product)], key) == product


def test_every_product_is_read_or_listed_as_unsupported():
    delivery = {values.product("D", "BSE_EQ|X"), values.product("D", "MCX_FO|1")}
    assert set(values.PRODUCT_FROM_WIRE.values()) | delivery | values.PRODUCTS_UNSUPPORTED == set(Product)
    assert values.product("OCO", "NSE_EQ|X") == "BO"
    assert values.product("xyz", "NSE_EQ|X") == "XYZ"


def test_every_order_status_of_ours_has_a_word_or_is_listed_as_unsupported():
    assert set(values.STATUSES.values()) | values.STATUSES_UNSUPPORTED == set(OrderStatus)


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("put order req received", "PENDING"), ("validation pending", "PENDING"), ("open pending", "PENDING"),
        ("trigger pending", "PENDING"), ("after market order req received", "PENDING"),
        ("modify after market order req received", "PENDING"), ("open", "OPEN"), ("modify pending", "OPEN"),
        ("modify validation pending", "OPEN"), ("modified", "OPEN"), ("not modified", "OPEN"), ("cancel pending", "OPEN"),
        ("not cancelled", "OPEN"), ("complete", "COMPLETE"), ("cancelled", "CANCELLED"),
        ("cancelled after market order", "CANCELLED"), ("rejected", "REJECTED"), ("half done", "HALF DONE"),
    ],
)  # fmt: skip
def test_the_documented_statuses_in_lower_case_are_read_and_an_unknown_one_passes_through(word, ours):
    assert values.status(word) == ours


def test_contracts_of_an_unknown_size_have_no_units_and_cash_is_always_in_units():
    listing = Listing(broker_token="MCX_FO|1", tradingsymbol="X", exchange="MCX_FO", contract_units=100)
    assert values.contract_units("MCX_FO|1", {"MCX_FO|1": listing}) == 100
    assert values.contract_units("MCX_FO|2", {}) is None
    assert values.contract_units("NCD_FO|2", {}) is None
    assert values.contract_units("NSE_FO|2", {}) == 1
