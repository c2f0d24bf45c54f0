"""Whatever is sent to whatever route: never a 500, failures are `{"error": ...}`, and no order is sent by accident. Meanwhile one
broker cannot be reached, so that the answers with a broker missing are among those tried."""

from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.http.route_table import ROUTES

pytestmark = pytest.mark.long

PAGES = {404, 405, 413}
"""The framework's own HTML pages (rules 1.7.2)."""
PLACE, DISCONNECT = "/api/orders/place", "/api/session/disconnect"

TRICKY = """
    0 -1 1e999 NaN Infinity true null nse nse_equities equities zerodha BUY LIMIT CNC DAY 2026-02-30 CE open COMPLETE a,b,,c
    \ud7ff १२३ %ff%fe
"""
WORDS = st.sampled_from([*TRICKY.split(), "", "\x00", "9" * 400])
TEXTS = st.one_of(WORDS, st.text(max_size=30), st.uuids().map(str))
NUMBERS = st.one_of(
    st.integers(-3, 20), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.just(10**60), st.just(-0.0)
)
PLAIN = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
NAMES = sorted(
    {parameter.name for route in ROUTES for parameter in route.parameters} | {"orders", "synthetic", "price_reference"}
)
BODIES = b"""{ null [] "x" NaN {"quantity":NaN} {"price":1e999} {"price":-0.0} \xff\xfe {"a":1}{"b":2}"""
DEEP = (b"[" * 100_000, b'{"a":' * 20_000, b'{"quantity":' + b"9" * 5000 + b"}", b'{"orders":' + b"[{}," * 3000)
RAW = st.sampled_from([b"", *BODIES.split(), *DEEP])
TYPES = st.sampled_from(
    [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "x; charset=y",
    ]
)


@st.composite
def requests(draw):
    """(method, target, body, content type, token) of a route of the table, or of nearly one."""
    route = draw(st.sampled_from(ROUTES))
    method, path = route.method, route.path.replace("<intent_id>", quote(draw(TEXTS), safe="") or "x")
    if draw(st.integers(0, 5)) == 0:
        method = draw(st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]))
        path += draw(st.sampled_from(["", "", "/", "/x", "%00", "%ff"]))
    own = [parameter.name for parameter in route.parameters] or NAMES
    names = st.one_of(st.sampled_from(own), st.sampled_from(NAMES), st.text(max_size=6))
    query = draw(st.lists(st.tuples(names, TEXTS), max_size=5))
    body = draw(st.one_of(st.none(), RAW, st.dictionaries(names, VALUES, max_size=8), VALUES))
    return method, path, query, body, draw(TYPES), draw(st.sampled_from(["own", "own", "own", "wrong", "none"])), route


@pytest.fixture(scope="module")
def share(one_unreachable):
    return one_unreachable.share()


@settings(max_examples=1200, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=requests(), known=st.booleans())
def test_no_request_is_answered_with_a_500(one_unreachable, share, request, known):
    demo = one_unreachable
    method, path, query, body, content_type, token, route = request
    if known:
        query = [*query, ("instrument_id", share["instrument_id"])]
    if path.startswith(DISCONNECT) and token == "own":
        token = "wrong"
    if path.startswith(PLACE):  # a body that happens to be an order must not become one
        query = [*(pair for pair in query if pair[0] != "dry_run"), ("dry_run", "true")]
        body = {**order(share), **body, "dry_run": True} if isinstance(body, dict) else body
    answer = demo.ask_raw(
        method, path, query, body, content_type, {"own": demo.token, "wrong": "x", "none": None}[token]
    )
    said = (method, path, query, body, answer)
    assert answer.status < 500 or answer.status in (502, 503, 504), said
    if (
        method != "HEAD"
        and answer.status >= 400
        and not (answer.status in PAGES and answer.content_type.startswith("text/html"))
    ):
        assert answer.content_type == "application/json", said
        assert isinstance(answer.json["error"], str), said
        assert answer.json["error"], said
    if token != "own" and route.token.name == "REQUIRED" and method == route.method and "/x" not in path:
        assert answer.status in (401, 404, 405, 308), said


def order(share):
    return {
        "instrument_id": share["instrument_id"],
        "transaction_type": "BUY",
        "product": "CNC",
        "order_type": "MARKET",
        "quantity": 1,
    }


def test_none_of_them_became_an_order_or_ended_the_session(one_unreachable):
    demo = one_unreachable
    assert demo.ledger()["messages"] == []
    assert demo.read("/api/session/status")["status"] == "connected"
    health = demo.read("/api/health")
    assert health["crashes"] == []
    assert "Traceback" not in demo.log.read_text()
