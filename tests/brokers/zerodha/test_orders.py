"""What goes out for an order, and what Kite's answers mean for it."""

from datetime import datetime
from decimal import Decimal
from urllib.parse import parse_qsl

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import CallKind, NotSendable, NotSent, WireResponse
from onebroker.brokers.zerodha import orders
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
SHARE = Listing(broker_token="408065", tradingsymbol="INFY", exchange="NSE")
LEAD = Listing(broker_token="53496327", tradingsymbol="LEADMINI17DECFUT", exchange="MCX", contract_units=1000)
ROW = OrderRow(
    order_id="151220000000000", status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
    instrument_token="408065", tradingsymbol="INFY", exchange="NSE", quantity=5, variety="amo",
)  # fmt: skip


def ticket(listing=SHARE, **changes):
    return limit_order(listing, **changes)


def form(request):
    return dict(parse_qsl(request.body.decode()))


def test_a_limit_order_is_a_form_with_plain_decimals(access):
    request = orders.place_request(access, ticket(token="ob0123456789ab", disclosed_quantity=2), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.ORDER, "POST", "https://api.kite.trade/orders/regular",
    )  # fmt: skip
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert form(request) == {
        "exchange": "NSE", "tradingsymbol": "INFY", "transaction_type": "BUY", "quantity": "5", "product": "CNC",
        "order_type": "LIMIT", "validity": "DAY", "price": "1573.1", "disclosed_quantity": "2", "tag": "ob0123456789ab",
    }  # fmt: skip


@pytest.mark.parametrize(("order_type", "trigger"), [("MARKET", None), ("SL-M", Decimal("1500"))])
def test_orders_that_may_trade_anywhere_carry_automatic_protection(access, order_type, trigger):
    sent = form(orders.place_request(access, ticket(order_type=order_type, price=None, trigger_price=trigger), NOW))
    assert sent["market_protection"] == "-1"
    assert "price" not in sent
    assert sent.get("trigger_price") == (None if trigger is None else "1500")


def test_an_after_market_order_goes_to_the_amo_variety(access):
    assert orders.place_request(access, ticket(after_market=True), NOW).url.endswith("/orders/amo")


def test_units_become_lots_where_kite_speaks_lots(access):
    assert form(orders.place_request(access, ticket(LEAD, product="NRML", quantity=3000), NOW))["quantity"] == "3"


@pytest.mark.parametrize("quantity", [1, 999, 1500])
def test_a_part_of_a_lot_is_never_sent(access, quantity):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(LEAD, product="NRML", quantity=quantity), NOW)


def test_an_order_whose_units_per_contract_are_unknown_is_never_sent(access):
    unknown = msgspec.structs.replace(LEAD, contract_units=None)
    with pytest.raises(NotSent, match="not known"):
        orders.place_request(access, ticket(unknown, product="NRML", quantity=1000), NOW)
    change = OrderChange(row=ROW, listing=unknown, segment="mcx_commodity_futures", quantity=1000)
    with pytest.raises(NotSent):
        orders.modify_request(access, change, NOW)


@pytest.mark.parametrize("token", ["x" * 21, "with space", "dash-ed", "ümlaut"])
def test_a_tag_kite_would_refuse_is_not_sent(access, token):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(token=token), NOW)


def test_a_modify_sends_the_new_values_only_to_the_orders_own_variety(access):
    change = OrderChange(row=ROW, listing=SHARE, segment="nse_equities", price=Decimal("1570"), quantity=4)
    request = orders.modify_request(access, change, NOW)
    assert (request.method, request.url) == ("PUT", "https://api.kite.trade/orders/amo/151220000000000")
    assert form(request) == {"price": "1570", "quantity": "4"}


def test_a_modify_to_market_carries_protection(access):
    change = OrderChange(row=ROW, listing=SHARE, segment="nse_equities", order_type="MARKET")
    assert form(orders.modify_request(access, change, NOW)) == {"order_type": "MARKET", "market_protection": "-1"}


def test_a_cancel_names_the_order_and_for_a_cover_order_its_parent(access):
    request = orders.cancel_request(access, ROW, NOW)
    assert (request.method, request.url) == ("DELETE", "https://api.kite.trade/orders/amo/151220000000000")
    cover = msgspec.structs.replace(ROW, variety="co", parent_order_id="7")
    assert orders.cancel_request(access, cover, NOW).url.endswith("/orders/co/151220000000000?parent_order_id=7")


@pytest.mark.parametrize("name", ["order_response", "order_modify", "order_cancel"])
def test_the_recorded_answers_are_acceptances(recorded, name):
    answer = orders.parse_order_answer(recorded(name))
    assert answer.outcome is Outcome.ACCEPTED
    assert answer.order_id
    assert answer.broker_response == recorded(name).json()


def refusal(error_type, message="no"):
    return msgspec.json.encode({"status": "error", "message": message, "error_type": error_type, "data": None})


@every_case(
    ("status", "body", "outcome"),
    [
        (400, refusal("InputException"), Outcome.REJECTED),
        (400, refusal("OrderException"), Outcome.REJECTED),
        (500, refusal("OrderException"), Outcome.REJECTED),
        (400, refusal("MarginException"), Outcome.REJECTED),
        (403, refusal("HoldingException"), Outcome.REJECTED),
        (403, refusal("PermissionException"), Outcome.REJECTED),
        (403, refusal("TokenException"), Outcome.REJECTED),
        (200, refusal("InputException"), Outcome.REJECTED),
        (404, refusal("GeneralException"), Outcome.REJECTED),
        (429, refusal("NetworkException"), Outcome.REJECTED),
        (429, b"slow down", Outcome.REJECTED),
        (503, refusal("NetworkException"), Outcome.UNKNOWN),
        (502, refusal("DataException"), Outcome.UNKNOWN),
        (500, refusal("GeneralException"), Outcome.UNKNOWN),
        (200, refusal("GeneralException"), Outcome.UNKNOWN),
        (408, refusal("GeneralException"), Outcome.UNKNOWN),
        (500, refusal("FutureException"), Outcome.UNKNOWN),
        (200, b"", Outcome.UNKNOWN),
        (502, b"<html>Bad gateway</html>", Outcome.UNKNOWN),
        (403, b"<html>blocked</html>", Outcome.UNKNOWN),
        (200, b"<html>Sign in</html>", Outcome.UNKNOWN),
        (200, b"[]", Outcome.UNKNOWN),
        (200, b"null", Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{}}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{"order_id":""}}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":null}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{"order_id":{"error":{}}}}', Outcome.UNKNOWN),
        (200, b'{"data":{"order_id":"1"}}', Outcome.UNKNOWN),
        (500, b'{"status":"success","data":{"order_id":"1"}}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{"order_id":"15', Outcome.UNKNOWN),
    ],
)
def test_only_an_order_id_accepts_and_only_a_clear_no_rejects(status, body, outcome):
    answer = orders.parse_order_answer(WireResponse(status=status, body=body))
    assert answer.outcome is outcome
    assert answer.order_id is None


def test_a_dead_session_and_a_full_rate_are_told_apart():
    dead = orders.parse_order_answer(WireResponse(status=403, body=refusal("TokenException", "expired")))
    assert (dead.session_dead, dead.rate_limited, dead.status_message) == (True, False, "expired")
    full = orders.parse_order_answer(WireResponse(status=429, body=refusal("NetworkException", "Too many requests")))
    assert (full.session_dead, full.rate_limited) == (False, True)


def test_a_blank_order_id_is_no_acceptance():
    for order_id in ("", "   ", None, ["1"]):
        body = msgspec.json.encode({"status": "success", "data": {"order_id": order_id}})
        assert orders.parse_order_answer(WireResponse(status=200, body=body)).outcome is Outcome.UNKNOWN
