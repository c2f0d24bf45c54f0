"""Upstox' value tables beyond test_value_tables.py; units of a contract."""

import pytest

from onebroker.brokers.records import Listing
from onebroker.brokers.upstox import values
from onebroker.config.vocabulary import Product
from tests.support.every_case import every_case


@pytest.mark.parametrize(("product", "key"), [("CNC", "NSE_EQ|X"), ("NRML", "NSE_FO|1"), ("MIS", "NSE_EQ|X")])
def test_a_product_is_read_back_by_its_letter_and_the_segment(product, key):
    assert values.product(values.PRODUCTS.say(product), key) == product


def test_what_the_table_does_not_read_back_is_read_by_the_segment():
    delivery = {values.product("D", "BSE_EQ|X"), values.product("D", "MCX_FO|1")}
    assert set(values.PRODUCTS.reads.values()) | delivery | values.PRODUCTS.unsupported == set(Product)
    assert values.product("OCO", "NSE_EQ|X") == "BO"
    assert values.product("xyz", "NSE_EQ|X") == "XYZ"


@every_case(
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
    assert values.STATUSES.read(word) == ours


def test_contracts_of_an_unknown_size_have_no_units_and_cash_is_always_in_units():
    listing = Listing(broker_token="MCX_FO|1", tradingsymbol="X", exchange="MCX_FO", contract_units=100)
    assert values.contract_units("MCX_FO|1", {"MCX_FO|1": listing}) == 100
    assert values.contract_units("MCX_FO|2", {}) is None
    assert values.contract_units("NCD_FO|2", {}) is None
    assert values.contract_units("NSE_FO|2", {}) == 1
