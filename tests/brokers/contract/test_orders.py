"""The contract of `OrderCodec` at all ten brokers: an order that cannot be said in the broker's words is refused with `NotSendable`, before
anything leaves, and none is built into another order than was asked for."""

import itertools
import re
from collections import defaultdict
from datetime import datetime
from decimal import Decimal
from urllib.parse import unquote_plus

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import Access, Login, OrderChange, OrderTicket
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import NotSendable, WireRequest
from onebroker.config.clock import IST
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.brokers.contract.test_answers_about_another_order import WORDS
from tests.support.every_case import every_case

REGISTRY = build_registry()
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
each_broker = every_case("code", REGISTRY)
FOREIGN = {"transaction_type": "SHORT", "product": "BO", "order_type": "ICEBERG", "validity": "GTT"}
PRICE, TRIGGER = Decimal("1573.10"), Decimal("1572.00")


class Codec:
    """One broker's codec, asked about one share of which it sells lots of 5."""

    def __init__(self, code, lot=5):
        self.orders, words = REGISTRY[code].orders, WORDS[code]
        token, symbol, exchange = words.share
        names = {} if words.room is None else {"other_names": words.room}
        self.listing = Listing(broker_token=token, tradingsymbol=symbol, exchange=exchange, contract_units=lot, **names)
        keys = dict.fromkeys(REGISTRY[code].all_credential_keys, "key")
        login = Login(tokens=defaultdict(lambda: "token"), user_id="AB1234", logged_in_at=0.0, expires_at=0.0)
        self.access = Access(endpoints=REGISTRY[code].endpoints, credentials=keys, login=login)
        self.ticket = OrderTicket(
            listing=self.listing, segment="nse_equities", transaction_type="BUY", product="CNC", order_type="LIMIT",
            validity="DAY", quantity=5, price=PRICE,
        )  # fmt: skip
        self.row = OrderRow(
            order_id=words.order_id, status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT",
            validity="DAY", instrument_token=token, tradingsymbol=symbol, exchange=exchange, quantity=5, price=1573.1,
            exchange_order_id="1100000001089341", contract_units=lot,
        )  # fmt: skip

    def place(self, **changed):
        return self.orders.place_request(self.access, attrs.evolve(self.ticket, **changed), NOW)

    def modify(self, row=None, **changed):
        change = OrderChange(
            row=self.row if row is None else row, listing=self.listing, segment="nse_equities", **changed
        )
        return self.orders.modify_request(self.access, change, NOW)


def prices_of(order_type):
    return {
        "price": PRICE if order_type.takes_price else None,
        "trigger_price": TRIGGER if order_type.takes_trigger else None,
    }


@each_broker
def test_whatever_is_asked_for_is_built_or_not_sendable(code):
    codec = Codec(code)
    built = 0
    for side, product, order_type, validity in itertools.product(Side, Product, OrderType, Validity):
        words = {"transaction_type": side, "product": product, "order_type": order_type, "validity": validity}
        try:
            request = codec.place(**words, **prices_of(order_type))
        except NotSendable:
            continue
        assert isinstance(request, WireRequest)
        built += 1
    assert built >= 8


@each_broker
@every_case("field", FOREIGN)
def test_a_word_of_nobodys_is_not_sendable(code, field):
    with pytest.raises(NotSendable):
        Codec(code).place(**{field: FOREIGN[field]})


@each_broker
@every_case("gone", [None, Decimal(0)])
def test_an_order_without_the_price_that_it_takes_is_not_sendable(code, gone):
    codec = Codec(code)
    for order_type in OrderType:
        given = prices_of(order_type)
        for name in (name for name, value in given.items() if value is not None):
            with pytest.raises(NotSendable):
                codec.place(order_type=order_type, **{**given, name: gone})


@each_broker
def test_a_part_of_a_lot_and_a_lot_of_unknown_size_are_not_sendable(code):
    codec = Codec(code)
    with pytest.raises(NotSendable):
        codec.place(quantity=7)
    with pytest.raises(NotSendable):
        Codec(code, lot=None).place()
    with pytest.raises(NotSendable):
        codec.modify(quantity=7)


@each_broker
@every_case("field", ["order_type", "validity"])
def test_a_change_to_a_word_of_nobodys_is_not_sendable(code, field):
    with pytest.raises(NotSendable):
        Codec(code).modify(**{field: FOREIGN[field]})


@each_broker
def test_a_change_to_a_type_whose_price_nobody_gave_is_not_sendable(code):
    codec = Codec(code)
    for order_type in OrderType:
        if order_type.takes_trigger:
            with pytest.raises(NotSendable):
                codec.modify(order_type=order_type)  # the row has a price and no trigger


@every_case("code", [code for code in REGISTRY if REGISTRY[code].margins is not None])
def test_a_question_for_the_margin_of_what_cannot_be_said_is_not_sendable(code):
    codec, margins = Codec(code), REGISTRY[code].margins
    for side, product, order_type in itertools.product(Side, Product, OrderType):
        words = {"transaction_type": side, "product": product, "order_type": order_type}
        ticket = attrs.evolve(codec.ticket, **words, **prices_of(order_type))
        try:
            assert isinstance(margins.margin_request(codec.access, ticket, PRICE, NOW), WireRequest)
        except NotSendable:
            continue
    for field in ("transaction_type", "product"):
        with pytest.raises(NotSendable):
            margins.margin_request(codec.access, attrs.evolve(codec.ticket, **{field: FOREIGN[field]}), PRICE, NOW)
    with pytest.raises(NotSendable):
        margins.margin_request(codec.access, attrs.evolve(codec.ticket, quantity=7), PRICE, NOW)


ONLY_NEW_VALUES = ("zerodha", "icicidirect")
"""Brokers whose change names the new values alone; the others' is the whole order as it shall stand."""


@every_case("code", [code for code in REGISTRY if code not in ONLY_NEW_VALUES])
def test_a_change_of_a_row_that_tells_no_price_is_not_built_with_zero(code):
    codec = Codec(code)
    with pytest.raises(NotSendable):
        codec.modify(row=msgspec.structs.replace(codec.row, price=0.0), quantity=10)


@every_case("code", ONLY_NEW_VALUES)
def test_a_change_of_new_values_alone_says_nothing_of_the_price_that_stays(code):
    codec = Codec(code)
    request = codec.modify(quantity=10)
    assert b"price" not in (request.body or b"")


DISCLOSED = {
    "zerodha": "disclosed_quantity", "upstox": "disclosed_quantity", "dhan": "disclosedQuantity", "fyers": "disclosedQty",
    "kotakneo": "dq", "fivepaisa": "DisQty", "shoonya": "dscqty", "icicidirect": "disclosed_quantity",
}  # fmt: skip
"""Broker -> the field of a change that says how much is disclosed; the two others have none."""


def disclosed_in(code, request):
    """Return what a change says it discloses; None where it says nothing."""
    found = re.search(rf'"?\b{DISCLOSED[code]}\b"?(=|:) *"?([0-9]+)', unquote_plus(request.body.decode()))
    return None if found is None else int(found[2])


@each_broker
@every_case("unit", [1, 5])
@every_case("filled, quantity", [(0, None), (60, None), (95, None), (60, 80), (100, None), (0, 30)])
def test_a_change_never_discloses_more_than_remains(code, filled, quantity, unit):
    """A broker's row repeats the disclosed quantity of the placing; brokers refuse it above the remainder, so that such a stop could never be
    moved again. `unit` is the size of a lot. Dhan takes no less than 30 % of the quantity, or zero, which shows all."""
    codec = Codec(code, lot=unit)
    row = msgspec.structs.replace(codec.row, quantity=100, filled_quantity=filled, disclosed_quantity=50)
    remains = (quantity or 100) - filled
    built = [codec.modify(row=row, price=PRICE, quantity=quantity)]
    if code in DISCLOSED:
        built.append(codec.modify(row=row, price=PRICE, quantity=quantity, disclosed_quantity=45))
    for request, named in zip(built, (50, 45), strict=False):
        told = disclosed_in(code, request) if code in DISCLOSED else None
        hidden = 0 if code == "dhan" and remains < named and remains < 0.3 * (quantity or 100) else min(named, remains)
        assert told is None or told * unit == hidden
        assert told is not None or code not in DISCLOSED or (code in ONLY_NEW_VALUES and named == 50)
    if code not in DISCLOSED:
        assert b"isclos" not in (built[0].body or b"")


@every_case("code", DISCLOSED)
def test_a_remainder_of_a_broken_lot_discloses_whole_lots(code):
    codec = Codec(code)
    row = msgspec.structs.replace(codec.row, quantity=100, filled_quantity=58, disclosed_quantity=50)
    told = disclosed_in(code, codec.modify(row=row, price=PRICE, disclosed_quantity=50))
    assert told == 8  # lots of 5, of 42 units


@every_case("code", [code for code in DISCLOSED if code not in ONLY_NEW_VALUES])
def test_a_row_of_unknown_size_discloses_no_more_than_remains_of_the_brokers_own_count(code):
    codec = Codec(code, lot=None)
    row = msgspec.structs.replace(codec.row, quantity=20, filled_quantity=12, disclosed_quantity=10)
    assert disclosed_in(code, codec.modify(row=row, price=PRICE)) == 8
