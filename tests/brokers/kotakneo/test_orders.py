"""What is sent to place, change and cancel, and what the answers mean."""

from datetime import datetime
from decimal import Decimal
from urllib.parse import parse_qs

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import OrderChange, OrderTicket
from onebroker.brokers.kotakneo import books, orders
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)
SHARE = Listing(broker_token="nse_cm|3456", tradingsymbol="M&M-EQ", exchange="nse_cm", lot_size=1, tick_size=0.05)
GOLD = Listing(broker_token="mcx_fo|578790", tradingsymbol="GOLDM25SEP26FUT", exchange="mcx_fo", lot_size=100)
TICKET = OrderTicket(
    listing=SHARE, segment="nse_equities", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
    quantity=10, disclosed_quantity=1, price=Decimal("100.50"), token="ob12",
)  # fmt: skip


def fields(request):
    assert request.kind is CallKind.ORDER
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    return msgspec.json.decode(parse_qs(request.body.decode(), strict_parsing=True)["jData"][0])


def row(**changes):
    made = {
        "exSeg": "nse_cm", "tok": "3456", "ordSt": "open", "qty": 10, "fldQty": 0, "nOrdNo": "250122000612876", "trdSym": "M&M-EQ",
        "trnsTp": "B", "prod": "CNC", "prcTp": "L", "vldt": "DAY", "prc": "100.50", "dscQty": 1,
    }  # fmt: skip
    return books.order_row({**made, **changes}, {})


def test_a_limit_order_is_all_texts(access):
    request = orders.place_request(access, TICKET, NOW)
    assert request.url.endswith("/quick/order/rule/ms/place")
    assert fields(request) == {
        "am": "NO", "dq": "1", "es": "nse_cm", "mp": "0", "pc": "CNC", "pf": "N", "pr": "100.5", "pt": "L", "qt": "10",
        "rt": "DAY", "tp": "0", "ts": "M&M-EQ", "tt": "B", "os": "NEOTRADEAPI", "ig": "ob12",
    }  # fmt: skip


def test_prices_that_do_not_count_are_a_bare_zero(access):
    market = fields(orders.place_request(access, attrs.evolve(TICKET, order_type="MARKET", price=None), NOW))
    assert (market["pt"], market["pr"], market["tp"]) == ("MKT", "0", "0")
    stop = attrs.evolve(
        TICKET, order_type="SL", trigger_price=Decimal("99.00"), transaction_type="SELL", after_market=True, token="",
        validity="IOC",
    )  # fmt: skip
    sent = fields(orders.place_request(access, stop, NOW))
    assert (sent["pt"], sent["tp"], sent["tt"], sent["am"], sent["rt"]) == ("SL", "99", "S", "YES", "IOC")
    assert "ig" not in sent


def test_commodities_go_in_units(access):
    ticket = attrs.evolve(TICKET, listing=GOLD, product="NRML", quantity=300, disclosed_quantity=0)
    assert fields(orders.place_request(access, ticket, NOW))["qt"] == "300"


@every_case(
    "changes",
    [
        {"product": "ARB"}, {"product": "MTF"}, {"validity": "GTT"}, {"order_type": "XX"}, {"price": None},
        {"price": Decimal(0)}, {"order_type": "SL", "trigger_price": None}, {"token": "x" * 21},
        {"listing": GOLD, "validity": "IOC"},
        {"listing": Listing(broker_token="cde_fo|1", tradingsymbol="X", exchange="cde_fo", contract_units=1000)},
        {"listing": Listing(broker_token="mcx_fo|1", tradingsymbol="X", exchange="mcx_fo", contract_units=None)},
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_not_sent(access, changes):
    with pytest.raises(NotSendable):
        orders.place_request(access, attrs.evolve(TICKET, **changes), NOW)


def test_a_change_says_the_whole_order_and_its_validity_by_another_key(access):
    change = OrderChange(row=row(), listing=SHARE, segment="nse_equities", quantity=20, price=Decimal("101.05"))
    request = orders.modify_request(access, change, NOW)
    assert request.url.endswith("/quick/order/vr/modify")
    assert fields(request) == {
        "am": "NO", "dq": "1", "es": "nse_cm", "mp": "0", "no": "250122000612876", "os": "NEOTRADEAPI", "pc": "CNC",
        "pr": "101.05", "pt": "L", "qt": "20", "tp": "0", "ts": "M&M-EQ", "tt": "B", "vd": "DAY",
    }  # fmt: skip
    kept = fields(orders.modify_request(access, attrs.evolve(change, quantity=None, price=None), NOW))
    assert (kept["qt"], kept["pr"]) == ("10", "100.5")
    to_market = fields(orders.modify_request(access, attrs.evolve(change, order_type="MARKET"), NOW))
    assert (to_market["pt"], to_market["pr"]) == ("MKT", "0")


def test_a_change_to_a_price_of_zero_is_not_sent(access):
    change = OrderChange(row=row(prc="0.00"), listing=SHARE, segment="nse_equities", quantity=20)
    with pytest.raises(NotSendable):
        orders.modify_request(access, change, NOW)


def test_a_cancel_names_the_order_and_an_after_market_one_its_symbol_too(access):
    assert fields(orders.cancel_request(access, row(), NOW)) == {"on": "250122000612876", "am": "NO"}
    later = row(ordGenTp="AMO", ordSt="after market order req received")
    assert fields(orders.cancel_request(access, later, NOW)) == {
        "on": "250122000612876", "am": "YES", "ts": "M&M-EQ",
    }  # fmt: skip
    change = OrderChange(row=later, listing=SHARE, segment="nse_equities", quantity=20)
    assert fields(orders.modify_request(access, change, NOW))["am"] == "YES"


@every_case(
    ("status", "body", "outcome", "order_id"),
    [
        (200, {"nOrdNo": "250720000007242", "stat": "Ok", "stCode": 200}, "accepted", "250720000007242"),
        (200, {"result": "250720000007242", "stat": "Ok", "stCode": 200}, "accepted", "250720000007242"),
        (200, {"nOrdNo": "", "stat": "Ok", "stCode": 200}, "unknown", None),
        (200, {"nOrdNo": "1"}, "unknown", None),
        (200, {"nOrdNo": "1", "stat": "Ok", "stCode": 1005}, "unknown", None),
        (200, {"nOrdNo": "1", "stat": "Not_Ok", "stCode": 1009, "errMsg": "x"}, "unknown", None),
        (200, {"stCode": 1021, "errMsg": "order is completed", "stat": "please provide valid order number"}, "rejected", None),
        (400, {"stat": "Not_Ok", "emsg": "insufficient balance", "stCode": 1004}, "rejected", None),
        (200, {"stat": "Not_Ok", "errMsg": "internal", "stCode": 1005}, "unknown", None),
        (200, {"stat": "Not_Ok", "errMsg": "dependency", "stCode": 424}, "unknown", None),
        (500, {"stat": "Not_Ok", "errMsg": "x", "stCode": 1009}, "unknown", None),
        (200, {"stCode": 100022, "errMsg": "invalid session token", "stat": "Not_Ok"}, "rejected", None),
        (429, None, "rejected", None),
        (403, None, "rejected", None),
        (403, b"<html>Forbidden", "unknown", None),
        (502, None, "unknown", None),
        (200, None, "unknown", None),
        (200, [], "unknown", None),
    ],
)  # fmt: skip
def test_answers_are_accepted_only_with_a_number_and_rejected_only_by_a_clear_no(status, body, outcome, order_id):
    raw = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
    answer = orders.parse_order_answer(WireResponse(status=status, body=raw))
    assert (answer.outcome, answer.order_id) == (Outcome(outcome), order_id)


def test_a_dead_session_and_a_full_window_are_said_beside_the_outcome(said):
    dead = orders.parse_order_answer(said({"stCode": 100021, "errMsg": "invalid  access type", "stat": "Not_Ok"}))
    assert (dead.session_dead, dead.rate_limited) == (True, False)
    limited = orders.parse_order_answer(said({"stCode": 429, "errMsg": "rate limit", "stat": "Not_Ok"}, 429))
    assert (limited.session_dead, limited.rate_limited) == (False, True)
