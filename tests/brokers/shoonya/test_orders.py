"""Orders in Shoonya's words, and what its answers mean."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.requests import CallKind, NotSendable, WireResponse
from onebroker.brokers.shoonya import books, orders
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)


def sent(request):
    return msgspec.json.decode(request.body.removeprefix(b"jData="))


def ticket(listing, **changes):
    return limit_order(listing, **{"quantity": 10, "price": Decimal("1201.50"), "token": "ob0123456789ab", **changes})


def test_a_limit_order_names_everything_as_text(access, listings):
    request = orders.place_request(access, ticket(listings["NSE|2031"]), NOW)
    assert request.kind is CallKind.ORDER
    assert request.url.endswith("/PlaceOrder")
    assert sent(request) == {
        "uid": "FA12345", "actid": "FA12345", "exch": "NSE", "tsym": "M%26M-EQ", "qty": "10", "dscqty": "0", "prd": "C",
        "trantype": "B", "prctyp": "LMT", "prc": "1201.5", "ret": "DAY", "ordersource": "API", "remarks": "ob0123456789ab",
    }  # fmt: skip
    assert b"&" not in request.body


def test_a_stop_has_its_trigger_and_an_after_market_order_its_mark(access, listings):
    change = {"order_type": "SL", "trigger_price": Decimal(1201), "after_market": True, "validity": "IOC", "token": ""}
    fields = sent(orders.place_request(access, ticket(listings["NSE|11536"], disclosed_quantity=5, **change), NOW))
    assert (fields["prctyp"], fields["trgprc"], fields["amo"], fields["ret"]) == ("SL-LMT", "1201", "Yes", "IOC")
    assert fields["dscqty"] == "5"
    assert "remarks" not in fields


@pytest.mark.parametrize(
    ("token", "units", "wired"), [("CDS|17274", 3000, "3"), ("MCX|477176", 3, "30"), ("NSE|11536", 3, "3")]
)
def test_quantities_leave_as_the_broker_counts_them(access, listings, token, units, wired):
    assert sent(orders.place_request(access, ticket(listings[token], quantity=units), NOW))["qty"] == wired


def test_what_cannot_be_said_is_not_sent(access, listings):
    share, dollar = listings["NSE|11536"], listings["CDS|17274"]
    unknown = msgspec.structs.replace(dollar, contract_units=None)
    for bad in (
        ticket(share, order_type="MARKET", price=None),
        ticket(share, order_type="SL-M", price=None, trigger_price=Decimal(5)),
        ticket(dollar, quantity=1500),
        ticket(unknown, quantity=1000),
        ticket(share, token="a&b"),
    ):
        with pytest.raises(NotSendable):
            orders.place_request(access, bad, NOW)


def row(recorded, listings, number):
    return books.parse_orders([recorded("orders")], listings)[number]


def test_a_change_tells_the_whole_order(access, listings, recorded):
    stop = row(recorded, listings, 0)
    change = OrderChange(row=stop, listing=listings["NSE|2031"], segment="nse_equities", quantity=12)
    assert sent(orders.modify_request(access, change, NOW)) == {
        "uid": "FA12345", "actid": "FA12345", "norenordno": "20121300065716", "exch": "NSE", "tsym": "M%26M-EQ",
        "prctyp": "SL-LMT", "prc": "1201.5", "qty": "12", "dscqty": "0", "ret": "DAY", "ordersource": "API", "trgprc": "1201",
    }  # fmt: skip
    limit = OrderChange(
        row=stop, listing=listings["NSE|2031"], segment="nse_equities", order_type="LIMIT", price=Decimal(9)
    )
    fields = sent(orders.modify_request(access, limit, NOW))
    assert (fields["prctyp"], fields["prc"]) == ("LMT", "9")
    assert "trgprc" not in fields


def test_quantities_of_a_change_are_the_brokers_own(access, listings, recorded):
    gold = row(recorded, listings, 1)
    change = OrderChange(row=gold, listing=listings["MCX|477176"], segment="mcx_commodity_futures", price=Decimal(5))
    fields = sent(orders.modify_request(access, change, NOW))
    assert (fields["qty"], fields["dscqty"]) == ("30", "10")


def test_a_change_of_what_we_have_no_word_for_is_not_sent(access, listings, recorded):
    market = row(recorded, listings, 2)
    for changes in ({}, {"order_type": "LIMIT"}, {"validity": "DAY"}):
        change = OrderChange(row=market, listing=listings["CDS|17274"], segment="nse_currency_options", **changes)
        with pytest.raises(NotSendable):
            orders.modify_request(access, change, NOW)


def test_a_cancel_names_the_order(access, listings, recorded):
    request = orders.cancel_request(access, row(recorded, listings, 0), NOW)
    assert request.url.endswith("/CancelOrder")
    assert sent(request) == {"uid": "FA12345", "norenordno": "20121300065716", "ordersource": "API"}


@every_case(
    ("status", "body", "outcome", "order_id"),
    [
        (200, b'{"request_time":"x","stat":"Ok","norenordno":"2012"}', Outcome.ACCEPTED, "2012"),
        (200, b'{"stat":"Ok","result":"2012"}', Outcome.ACCEPTED, "2012"),
        (200, b'{"stat":"Ok"}', Outcome.UNKNOWN, None),
        (200, b'{"stat":"Ok","norenordno":7}', Outcome.UNKNOWN, None),
        (200, b'{"norenordno":"2012"}', Outcome.UNKNOWN, None),
        (200, b'{"stat":"Not_Ok","emsg":"Invalid Trading Symbol"}', Outcome.REJECTED, None),
        (400, b'{"stat":"Not_Ok","emsg":"Order price cannot be zero"}', Outcome.REJECTED, None),
        (200, b'{"stat":"Not_Ok","emsg":"Server Timeout : "}', Outcome.UNKNOWN, None),
        (200, b'{"stat":"Not_Ok","emsg":"Error Occurred : 7"}', Outcome.UNKNOWN, None),
        (200, b'{"stat":"Not_Ok","emsg":"Error Occurred : 2 \\"invalid input\\""}', Outcome.REJECTED, None),
        (200, b'{"stat":"Not_Ok","emsg":"Error Occurred : 5 no data"}', Outcome.UNKNOWN, None),
        (200, b'{"stat":"Not_Ok","emsg":"Internal error"}', Outcome.UNKNOWN, None),
        (200, b'{"stat":"Not_Ok","emsg":"Unable to process"}', Outcome.UNKNOWN, None),
        (500, b'{"stat":"Not_Ok","emsg":"anything"}', Outcome.UNKNOWN, None),
        (502, b"<html>Bad Gateway</html>", Outcome.UNKNOWN, None),
        (500, b'{"stat":"Ok","norenordno":"2012"}', Outcome.UNKNOWN, None),
        (200, b"", Outcome.UNKNOWN, None),
        (200, b"[]", Outcome.UNKNOWN, None),
        (429, b"", Outcome.REJECTED, None),
    ],
)
def test_an_answer_is_an_acceptance_only_with_an_order_id_and_a_rejection_only_on_a_clear_no(
    status, body, outcome, order_id
):
    answer = orders.parse_order_answer(WireResponse(status=status, body=body))
    assert (answer.outcome, answer.order_id) == (outcome, order_id)


def test_a_dead_session_and_a_full_second_are_told(refused):
    dead = orders.parse_order_answer(refused("Session Expired : Invalid Session Key"))
    assert (dead.outcome, dead.session_dead, dead.rate_limited) == (Outcome.REJECTED, True, False)
    full = orders.parse_order_answer(refused("Order Recieved 11 in a current second exceeds Limit 10 for user"))
    assert (full.outcome, full.session_dead, full.rate_limited) == (Outcome.REJECTED, False, True)
    assert full.status_message.startswith("Order Recieved")


@pytest.mark.parametrize(
    "changes", [{"price": None}, {"price": Decimal(0)}, {"order_type": "SL", "trigger_price": None}, {"order_type": "SL", "trigger_price": Decimal(0)}]
)  # fmt: skip
def test_an_order_without_its_price_or_trigger_is_not_sent(access, listings, changes):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(listings["NSE|11536"], **changes), NOW)


def test_a_limit_order_does_not_become_a_stop_without_a_trigger(access, listings, recorded):
    row = msgspec.structs.replace(
        books.parse_orders([recorded("orders")], listings)[0], order_type="LIMIT", trigger_price=0.0
    )
    change = OrderChange(row=row, listing=listings["NSE|2031"], segment="nse_equities", order_type="SL")
    with pytest.raises(NotSendable):
        orders.modify_request(access, change, NOW)
