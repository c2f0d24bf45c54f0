"""What order messages look like, and what their answers mean."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.angelone import orders
from onebroker.brokers.broker import OrderChange
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)


def ticket(listing, **changes):
    return limit_order(listing, **{"quantity": 7, "price": Decimal("568.20"), "token": "ob0123456789ab", **changes})


def row(**changes):
    values = {
        "order_id": "240520000000112", "status": "OPEN", "transaction_type": "BUY", "product": "NRML",
        "order_type": "LIMIT", "validity": "DAY", "instrument_token": "MCX|426302", "tradingsymbol": "GOLD24JUNFUT",
        "exchange": "MCX", "quantity": 300, "price": 5300.0, "variety": "NORMAL", "contract_units": 100, **changes,
    }  # fmt: skip
    return OrderRow(**values)


def body(request):
    assert (request.kind, request.method) == (CallKind.ORDER, "POST")
    return msgspec.json.decode(request.body)


def test_an_order_is_all_texts_under_the_brokers_own_token(access, listings):
    request = orders.place_request(access, ticket(listings["NSE|3045"], disclosed_quantity=2), NOW)
    assert request.url.endswith("/rest/secure/angelbroking/order/v1/placeOrder")
    assert body(request) == {
        "variety": "NORMAL", "tradingsymbol": "SBIN-EQ", "symboltoken": "3045", "transactiontype": "BUY",
        "exchange": "NSE", "ordertype": "LIMIT", "producttype": "DELIVERY", "duration": "DAY", "price": "568.2",
        "triggerprice": "0", "squareoff": "0", "stoploss": "0", "trailingstoploss": "0", "quantity": "7",
        "disclosedquantity": "2", "ordertag": "ob0123456789ab",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("order_type", "after_market", "word", "variety"),
    [
        ("MARKET", False, "MARKET", "NORMAL"), ("LIMIT", False, "LIMIT", "NORMAL"),
        ("SL", False, "STOPLOSS_LIMIT", "STOPLOSS"), ("SL-M", False, "STOPLOSS_MARKET", "STOPLOSS"),
        ("LIMIT", True, "LIMIT", "AMO"), ("SL", True, "STOPLOSS_LIMIT", "AMO"),
    ],
)  # fmt: skip
def test_the_variety_follows_from_type_and_time(access, listings, order_type, after_market, word, variety):
    sent = body(
        orders.place_request(
            access,
            ticket(listings["NSE|3045"], order_type=order_type, after_market=after_market, trigger_price=Decimal(560)),
            NOW,
        )
    )
    assert (sent["ordertype"], sent["variety"], sent["triggerprice"]) == (word, variety, "560")


def test_where_lots_are_spoken_units_become_lots_and_a_part_of_one_cannot_be_sent(access, listings):
    dollar = listings["CDS|5"]
    assert body(orders.place_request(access, ticket(dollar, product="NRML", quantity=3000), NOW))["quantity"] == "3"
    for listing, quantity in ((dollar, 1500), (listings["NCDEX|7"], 50)):
        with pytest.raises(NotSendable):
            orders.place_request(access, ticket(listing, product="NRML", quantity=quantity), NOW)


def test_no_quantity_is_sent_to_mcx_whose_unit_nobody_settles_while_orders_there_can_be_moved_and_cancelled(
    access, listings
):
    gold = listings["MCX|426302"]
    with pytest.raises(NotSendable, match="lots or units"):
        orders.place_request(access, ticket(gold, product="NRML", quantity=100), NOW)
    with pytest.raises(NotSendable, match="lots or units"):
        orders.modify_request(access, OrderChange(row=row(), listing=gold, segment="x", quantity=200), NOW)
    moved = OrderChange(row=row(), listing=gold, segment="x", price=Decimal(5310))
    assert body(orders.modify_request(access, moved, NOW))["quantity"] == "3"
    assert body(orders.cancel_request(access, row(), NOW))["orderid"] == row().order_id


@pytest.mark.parametrize(
    "change", [{"product": "CO"}, {"validity": "GTC"}, {"order_type": "STOP"}, {"token": "x" * 20}]
)
def test_what_smartapi_has_no_word_for_is_not_sendable(access, listings, change):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(listings["NSE|3045"], **change), NOW)


def test_a_change_sends_the_whole_order_as_it_shall_stand(access, listings):
    change = OrderChange(
        row=row(), listing=listings["MCX|426302"], segment="mcx_commodity_futures", price=Decimal("5310.5")
    )
    request = orders.modify_request(access, change, NOW)
    assert request.url.endswith("/order/v1/modifyOrder")
    assert body(request) == {
        "variety": "NORMAL", "orderid": "240520000000112", "ordertype": "LIMIT", "producttype": "CARRYFORWARD",
        "duration": "DAY", "price": "5310.5", "quantity": "3", "tradingsymbol": "GOLD24JUNFUT",
        "symboltoken": "426302", "exchange": "MCX", "triggerprice": "0",
    }  # fmt: skip


def test_a_change_of_type_takes_the_prices_its_type_has(access, listings):
    stop = row(order_type="SL", trigger_price=5290.0, variety="STOPLOSS")
    change = OrderChange(row=stop, listing=listings["MCX|426302"], segment="x", order_type="SL-M")
    sent = body(orders.modify_request(access, change, NOW))
    assert (sent["ordertype"], sent["price"], sent["triggerprice"], sent["quantity"], sent["variety"]) == (
        "STOPLOSS_MARKET", "0", "5290", "3", "STOPLOSS",
    )  # fmt: skip


def test_a_row_still_in_lots_keeps_its_lots(access, listings):
    lots = row(quantity=3, contract_units=None)
    change = OrderChange(row=lots, listing=listings["MCX|426302"], segment="x", price=Decimal(1))
    assert body(orders.modify_request(access, change, NOW))["quantity"] == "3"


@pytest.mark.parametrize(
    ("variety", "order_type", "sent"),
    [("AMO", "LIMIT", "AMO"), ("STOPLOSS", "SL", "STOPLOSS"), (None, "SL-M", "STOPLOSS"), (None, "LIMIT", "NORMAL")],
)
def test_a_cancel_names_the_variety_the_order_was_placed_with(access, variety, order_type, sent):
    request = orders.cancel_request(access, row(variety=variety, order_type=order_type), NOW)
    assert request.url.endswith("/order/v1/cancelOrder")
    assert body(request) == {"variety": sent, "orderid": "240520000000112"}


def said(http_status, /, **envelope):
    return WireResponse(status=http_status, body=msgspec.json.encode(envelope))


YES = {"status": True, "message": "SUCCESS", "errorcode": ""}
NO = {"status": False, "message": "no", "data": None}


@every_case(
    ("response", "outcome", "order_id"),
    [
        (
            said(200, **YES, data={"script": "SBIN-EQ", "orderid": "201020000000080"}),
            Outcome.ACCEPTED,
            "201020000000080",
        ),
        (said(200, **YES, data={"orderid": 201020000000080}), Outcome.ACCEPTED, "201020000000080"),
        (said(200, **YES, data=None), Outcome.UNKNOWN, None),
        (said(200, **YES, data={"orderid": ""}), Outcome.UNKNOWN, None),
        (said(200, data={"orderid": "1"}), Outcome.UNKNOWN, None),
        (said(502, **YES, data={"orderid": "1"}), Outcome.UNKNOWN, None),
        (said(200, **NO, errorcode="AB1009"), Outcome.REJECTED, None),
        (said(200, **NO, errorcode=""), Outcome.REJECTED, None),
        (said(400, **NO, errorcode="AB1008"), Outcome.REJECTED, None),
        (said(200, status="false", message="no", errorcode="AB1012", data=""), Outcome.REJECTED, None),
        (said(200, **NO, errorcode="AB1004"), Outcome.UNKNOWN, None),
        (said(200, **NO, errorcode="AB1007"), Outcome.UNKNOWN, None),
        (said(200, **NO, errorcode="AB2000"), Outcome.UNKNOWN, None),
        (said(500, **NO, errorcode="AB1009"), Outcome.UNKNOWN, None),
        (said(408, **NO, errorcode="AB1009"), Outcome.UNKNOWN, None),
        (said(200, status=False, message="no", errorcode="AB1009", data={"orderid": "1"}), Outcome.UNKNOWN, None),
        (WireResponse(status=200, body=b""), Outcome.UNKNOWN, None),  # lesson 20: the order went through
        (WireResponse(status=200, body=b"<html>"), Outcome.UNKNOWN, None),
        (WireResponse(status=403, body=b"<html>Forbidden"), Outcome.UNKNOWN, None),
        (WireResponse(status=504), Outcome.UNKNOWN, None),
        (WireResponse(status=403), Outcome.UNKNOWN, None),
        (said(200, **YES | {"errorcode": "AB1009"}, data=None), Outcome.UNKNOWN, None),
        (said(200, **YES | {"errorcode": "AB1009"}, data={"orderid": "1"}), Outcome.ACCEPTED, "1"),
        (
            said(200, status=False, message="Something Went Wrong, Please Try After Sometime", errorcode=""),
            Outcome.UNKNOWN,
            None,
        ),
    ],
)
def test_an_answer_is_accepted_rejected_or_unknown(response, outcome, order_id):
    answer = orders.parse_order_answer(response)
    assert (answer.outcome, answer.order_id) == (outcome, order_id)


def test_a_dead_session_and_the_rate_limit_are_rejections_that_say_so(recorded):
    dead = orders.parse_order_answer(recorded("gateway_dead"))
    assert (dead.outcome, dead.session_dead, dead.rate_limited) == (Outcome.REJECTED, True, False)
    limited = orders.parse_order_answer(
        WireResponse(status=403, body=b"Access denied because of exceeding access rate")
    )
    assert (limited.outcome, limited.session_dead, limited.rate_limited) == (Outcome.REJECTED, False, True)
    assert limited.broker_response == "Access denied because of exceeding access rate"


@pytest.mark.parametrize("lost", ["price", "trigger_price"])
def test_a_stop_whose_price_or_trigger_the_book_does_not_show_is_not_changed(access, listings, lost):
    stop = row(**{"order_type": "SL", "trigger_price": 5290.0, "variety": "STOPLOSS", lost: 0.0})
    with pytest.raises(NotSendable):
        orders.modify_request(
            access, OrderChange(row=stop, listing=listings["MCX|426302"], segment="x", quantity=200), NOW
        )
    asked = {"order_type": "SL", "price": Decimal(1), "trigger_price": Decimal(1), lost: None}
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(listings["NSE|3045"], **asked), NOW)
