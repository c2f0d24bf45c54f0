"""What a refusal means: by its code first, then by its words; and what an order message makes of it."""

import msgspec
import pytest

from onebroker.brokers.angelone import wire as angelone
from onebroker.brokers.codec.refusals import (
    Refusals,
    by_code,
    by_status,
    by_words,
    says_address,
    says_dead_token,
    says_too_many,
    server_failed,
)
from onebroker.brokers.dhan import wire as dhan
from onebroker.brokers.groww import wire as groww
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import RefusalKind, WireResponse
from onebroker.brokers.zerodha import wire as zerodha
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case

REGISTRY = build_registry()


def dhan_says(code, message, kind="Order_Error"):
    return {"errorType": kind, "errorCode": code, "errorMessage": message}


def kite_says(message, error_type="InputException"):
    return {"status": "error", "message": message, "data": None, "error_type": error_type}


def angel_says(code, message):
    return {"success": False, "message": message, "errorCode": code, "data": ""}


def groww_says(code, message):
    return {"status": "FAILURE", "error": {"code": code, "message": message}}


CODES = {"A": RefusalKind.BLOCKED, "B": RefusalKind.REFUSED}
STATUSES = {429: RefusalKind.RATE_LIMITED, 503: RefusalKind.SESSION_DEAD}
RULES = Refusals(
    by_words(says_dead_token, RefusalKind.SESSION_DEAD, codes={"B", None}),
    by_code(CODES),
    by_status(STATUSES),
    server_failed,
)


@every_case(
    ("status", "code", "message", "kind"),
    [
        (200, "A", "Invalid Token", RefusalKind.BLOCKED),  # the words count only with their codes
        (200, "B", "Invalid Token", RefusalKind.SESSION_DEAD),
        (200, None, "Invalid Token", RefusalKind.SESSION_DEAD),
        (429, "A", "", RefusalKind.BLOCKED),
        (500, "B", "", RefusalKind.REFUSED),  # a code that says REFUSED ends the search
        (429, None, "", RefusalKind.RATE_LIMITED),
        (503, "C", "", RefusalKind.SESSION_DEAD),
        (500, "C", "", RefusalKind.UNAVAILABLE),
        (400, "C", "", RefusalKind.REFUSED),
    ],
)  # fmt: skip
def test_the_first_rule_that_says_something_counts(status, code, message, kind):
    assert RULES.kind(status, code, message) is kind


def test_where_no_rule_says_anything_no_kind_is_named():
    assert RULES.named(400, "C", "") is None
    assert RULES.named(400, "B", "") is RefusalKind.REFUSED


REFUSALS = [
    ("dhan", dhan, 400, dhan_says("DH-906", "Invalid Token"), RefusalKind.SESSION_DEAD),
    ("dhan", dhan, 400, dhan_says("DH-906", "Market is Closed! Want to place an offline order?"), RefusalKind.REFUSED),
    ("dhan", dhan, 400, dhan_says("DH-911", "Request denied"), RefusalKind.ADDRESS_NOT_REGISTERED),
    ("angelone", angelone, 200, angel_says("AG7002", "Access denied: Unregistered IP address 1.2.3.4"), RefusalKind.ADDRESS_NOT_REGISTERED),
    ("angelone", angelone, 403, angel_says("AG7002", "Access denied"), RefusalKind.ADDRESS_NOT_REGISTERED),
    ("zerodha", zerodha, 403, kite_says("No IPs configured for this app. Add allowed IPs on the developer console.", "PermissionException"),
     RefusalKind.ADDRESS_NOT_REGISTERED),
    ("zerodha", zerodha, 400, kite_says("Maximum allowed order requests exceeded."), RefusalKind.RATE_LIMITED),
    ("zerodha", zerodha, 400, kite_says("Insufficient funds."), RefusalKind.REFUSED),
    ("groww", groww, 403, groww_says("GA005", "Unregistered IP address"), RefusalKind.ADDRESS_NOT_REGISTERED),
    ("groww", groww, 403, groww_says("GA005", "User not authorised to perform this operation"), RefusalKind.REFUSED),
]  # fmt: skip


@pytest.mark.parametrize(("code", "wire", "status", "body", "kind"), REFUSALS)
def test_a_refusal_is_what_its_code_or_its_words_say(code, wire, status, body, kind):
    response = WireResponse(status=status, body=msgspec.json.encode(body))
    answer = REGISTRY[code].orders.parse_order_answer(response)
    assert answer.outcome is Outcome.REJECTED
    assert answer.session_dead is (kind is RefusalKind.SESSION_DEAD)
    assert answer.rate_limited is (kind is RefusalKind.RATE_LIMITED)
    assert answer.address_refused is (kind is RefusalKind.ADDRESS_NOT_REGISTERED)


@every_case(
    ("message", "named"),
    [
        ("Unregistered IP address", True), ("No IPs configured for this app.", True), ("IP 1.2.3.4 is not whitelisted", True),
        ("No static IP has been configured", True), ("Invalid IP address", True), ("Order from IP address not registered", True),
        ("Please whitelist your IPs", True), ("IP mismatch", True), ("Client IP is not allowed to place orders", True),
        ("Insufficient margin for NIFTY", False), ("This IPO is not open", False), ("Invalid price for SHIP", False),
        ("Order not registered", False), ("", False),
    ],
)  # fmt: skip
def test_words_about_the_address_are_known_in_any_order_and_number(message, named):
    assert says_address(message) is named


@every_case(
    ("message", "dead", "many"),
    [
        ("Invalid Token", True, False), ("Token is expired", True, False), ("invalid access token", True, False),
        ("Invalid symboltoken", False, False), ("Token number of the instrument", False, False),
        ("Maximum allowed order requests exceeded.", False, True), ("Too many requests", False, True),
        ("Maximum order value exceeded", False, False),
    ],
)  # fmt: skip
def test_words_about_tokens_and_limits(message, dead, many):
    assert (says_dead_token(message), says_too_many(message)) == (dead, many)
