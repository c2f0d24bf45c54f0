"""Order messages that a broker turns away before it looks at the order: only answers whose meaning is certain count, each broker by its own
codes and words. What counts is sent again, so an answer that leaves anything open must not."""

import msgspec
import pytest

from onebroker.brokers.codec.order_messages import answer_to
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind, OrderNames, WireRequest, WireResponse
from onebroker.config.vocabulary import Outcome
from tests.brokers.codec.test_refusals import angel_says, dhan_says, groww_says, kite_says
from tests.support.every_case import every_case

REGISTRY = build_registry()


def upstox_says(code, message="no"):
    return {"status": "error", "errors": [{"error_code": code, "message": message}]}


def fyers_says(code, message="no", **more):
    return {"s": "error", "code": code, "message": message, **more}


def paisa_says(status, message, **more):
    return {"head": {"status": "0"}, "body": {"Status": status, "Message": message, **more}}


def kotak_says(code, message="no", **more):
    return {"stat": "Not_Ok", "stCode": code, "errMsg": message, **more}


def shoonya_says(message):
    return {"stat": "Not_Ok", "emsg": message}


def icici_says(status, error):
    return {"Success": None, "Status": status, "Error": error}


TURNED_AWAY = [
    ("zerodha", 403, kite_says("Incorrect `api_key` or `access_token`.", "TokenException")),
    ("zerodha", 429, kite_says("Too many requests", "NetworkException")),
    ("zerodha", 429, b""),
    ("zerodha", 400, kite_says("Maximum allowed order requests exceeded.")),
    ("zerodha", 403, kite_says("No IPs configured for this app.", "PermissionException")),
    ("upstox", 401, upstox_says("UDAPI100050")),
    ("upstox", 401, b""),
    ("upstox", 429, upstox_says("UDAPI10005")),
    ("upstox", 400, upstox_says("UDAPI1154")),
    ("dhan", 401, dhan_says("DH-901", "Client ID or user generated access token is invalid or expired.")),
    ("dhan", 400, dhan_says("DH-906", "Invalid Token")),
    ("dhan", 429, dhan_says("DH-904", "Too many requests on server from single user")),
    ("dhan", 400, dhan_says("DH-911", "Invalid IP")),
    ("fyers", 401, fyers_says(-16, "Could not authenticate the user")),
    ("fyers", 429, fyers_says(-429, "request limit reached")),
    ("groww", 401, b""),
    ("groww", 429, b""),
    ("groww", 403, groww_says("GA005", "Unregistered IP address")),
    ("angelone", 200, angel_says("AG8002", "Token Expired")),
    ("angelone", 403, b"Access denied because of exceeding access rate"),
    ("angelone", 200, angel_says("AG7002", "Access denied: Unregistered IP address 1.2.3.4")),
    ("fivepaisa", 200, paisa_says(9, "Invalid Session", BrokerOrderID=0)),
    ("fivepaisa", 429, b""),
    ("kotakneo", 200, kotak_says(100022, "Invalid session token")),
    ("kotakneo", 429, b""),
    ("kotakneo", 200, kotak_says(100008)),
    ("shoonya", 200, shoonya_says("Session Expired :  Invalid Session Key")),
    ("shoonya", 401, b""),
    ("shoonya", 200, shoonya_says("Order Recieved 11 in a current second exceeds Limit 10 for user")),
    ("icicidirect", 200, icici_says(500, "Resource not available.")),
    ("icicidirect", 200, icici_says(5, "Limit exceed: API call per minute:")),
]  # fmt: skip

STAYS_FINAL = [
    ("zerodha", 400, kite_says("Insufficient funds."), Outcome.REJECTED),
    ("zerodha", 400, kite_says("Maximum allowed order modifications exceeded."), Outcome.REJECTED),
    ("zerodha", 503, kite_says("Too many requests", "NetworkException"), Outcome.UNKNOWN),
    ("zerodha", 400, kite_says("Request timed out, too many requests", "OrderException"), Outcome.REJECTED),
    ("upstox", 423, upstox_says("UDAPI100074"), Outcome.REJECTED),
    ("upstox", 400, {**upstox_says("UDAPI100050"), "data": {"order_id": "1"}}, Outcome.UNKNOWN),
    ("dhan", 400, dhan_says("DH-906", "Market is Closed! Want to place an offline order?"), Outcome.REJECTED),
    ("dhan", 400, {**dhan_says("DH-904", "Too many"), "orderId": "7"}, Outcome.UNKNOWN),
    ("fyers", 400, fyers_says(-16, "no", id="8"), Outcome.UNKNOWN),
    ("groww", 403, groww_says("GA005", "User not authorised to perform this operation"), Outcome.REJECTED),
    ("groww", 403, b"", Outcome.REJECTED),
    # Which token is meant, and what 403 refuses, is not said.
    ("angelone", 200, angel_says("AB9999", "Invalid Token 3045"), Outcome.REJECTED),
    ("angelone", 403, b"Access denied", Outcome.REJECTED),
    ("angelone", 403, b"", Outcome.UNKNOWN),
    ("fivepaisa", 200, paisa_says(9, "Invalid Session", BrokerOrderID=991), Outcome.REJECTED),
    ("fivepaisa", 200, paisa_says(1, "rate limit of the circuit"), Outcome.REJECTED),
    ("kotakneo", 403, kotak_says(None, "not allowed in this segment"), Outcome.REJECTED),
    ("kotakneo", 403, b"<html>", Outcome.UNKNOWN),
    ("kotakneo", 200, kotak_says(100022, nOrdNo="9"), Outcome.UNKNOWN),
    ("shoonya", 403, b"<html>", Outcome.REJECTED),
    ("shoonya", 403, shoonya_says("Not allowed to trade"), Outcome.REJECTED),
    ("icicidirect", 200, icici_says(500, "Limit exceeds the limit allocated for this stock"), Outcome.REJECTED),
]  # fmt: skip


def answered(code, status, body):
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return REGISTRY[code].orders.parse_order_answer(WireResponse(status=status, body=content))


@every_case(("code", "status", "body"), TURNED_AWAY)
def test_what_was_certainly_turned_away_is_known(code, status, body):
    answer = answered(code, status, body)
    assert (answer.outcome, answer.turned_away) == (Outcome.REJECTED, True)


@every_case(("code", "status", "body", "outcome"), STAYS_FINAL)
def test_a_refusal_of_the_order_and_an_unclear_one_are_not(code, status, body, outcome):
    answer = answered(code, status, body)
    assert (answer.outcome, answer.turned_away) == (outcome, False)


def test_every_broker_is_among_them():
    assert {code for code, *_ in TURNED_AWAY} == set(REGISTRY)


@pytest.mark.parametrize("asked", ["t-1", "t-2"])
def test_an_answer_about_another_order_turns_nothing_away(asked):
    body = paisa_says(9, "Invalid Session", RemoteOrderID="t-1")
    request = WireRequest(kind=CallKind.ORDER, method="POST", url="https://x", about=OrderNames(token=asked))
    answer = answer_to(REGISTRY["fivepaisa"].orders, request, WireResponse(status=200, body=msgspec.json.encode(body)))
    assert answer.turned_away is (asked == "t-1")
